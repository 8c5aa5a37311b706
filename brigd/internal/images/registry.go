package images

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"brig/image"
)

// stall is how long a registry may send nothing.
const stall = time.Minute

var accepted = strings.Join([]string{string(types.OCIImageIndex), string(types.DockerManifestList),
	string(types.OCIManifestSchema1), string(types.DockerManifestSchema2)}, ", ")

// repository reads a repository of a registry. Names, credentials and the handshake are go-containerregistry's, whose
// remote images cannot go on at an offset.
type repository struct {
	ctx    context.Context
	client *http.Client
	base   string // https://HOST/v2/REPOSITORY
}

// fromRegistry finds an image in a registry.
func fromRegistry(n image.Name, insecure bool) (*origin, error) {
	ctx, cancel := context.WithCancel(context.Background())
	r, err := reach(ctx, n, insecure)
	var top []byte
	if err == nil {
		top, err = r.readSmall("/manifests/" + cmp.Or(n.Digest, n.Tag))
	}
	if is := image.DigestOf(top); err == nil && n.Digest != "" && n.Digest != is {
		err = fmt.Errorf("the registry sent a manifest with the digest %s", is)
	}
	if err != nil {
		cancel()
		return nil, explain(err, n)
	}
	return &origin{source: n.String(), top: top, fetch: r.blob, close: cancel,
		get: func(d v1.Descriptor) ([]byte, error) {
			if d.MediaType.IsIndex() || d.MediaType.IsImage() {
				return r.readSmall("/manifests/" + d.Digest.String())
			}
			return r.readSmall("/blobs/" + d.Digest.String())
		}}, nil
}

// reach logs in to a registry, with docker's credentials for it.
func reach(ctx context.Context, n image.Name, insecure bool) (*repository, error) {
	var options []name.Option
	if insecure {
		if options = append(options, name.Insecure); !loopback(n.Registry) {
			return nil, fmt.Errorf("--insecure is for registries on this machine's loopback addresses, and %s is none; "+
				"give it a certificate", n.Registry)
		}
	}
	reg, err := name.NewRegistry(n.Registry, options...)
	if err != nil {
		return nil, err
	}
	repo := reg.Repo(n.Repository)
	who, err := authn.Resolve(ctx, authn.DefaultKeychain, repo)
	if err != nil {
		return nil, fmt.Errorf("the credentials for %s in docker's configuration: %w", n.Registry, err)
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.DisableCompression = true // digests are of what is sent
	base.ResponseHeaderTimeout = stall
	guarded := transport.NewUserAgent(transport.NewRetry(&guard{base, insecure}), "brigd")
	t, err := transport.NewWithContext(ctx, reg, who, guarded, []string{repo.Scope(transport.PullScope)})
	if err != nil {
		return nil, err
	}
	scheme := "https"
	if insecure {
		scheme = reg.Scheme()
	}
	return &repository{ctx, &http.Client{Transport: t}, scheme + "://" + reg.RegistryStr() + "/v2/" + n.Repository}, nil
}

// loopback reports whether a registry is on this machine's loopback interface by its name: localhost, 127.0.0.0/8, ::1.
func loopback(registry string) bool {
	host := registry
	if h, _, err := net.SplitHostPort(registry); err == nil {
		host = h
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// guard refuses connections that are not encrypted, wherever a redirection or a registry's word leads: but for those to
// loopback addresses with --insecure.
type guard struct {
	next     http.RoundTripper
	insecure bool
}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && !(g.insecure && loopback(r.URL.Host)) {
		return nil, fmt.Errorf("%s://%s is not encrypted; --insecure permits that for loopback addresses", r.URL.Scheme,
			r.URL.Host)
	}
	return g.next.RoundTrip(r)
}

// explain adds the remedy to an error of a registry.
func explain(err error, n image.Name) error {
	if e, ok := errors.AsType[*transport.Error](err); ok {
		switch e.StatusCode {
		case http.StatusUnauthorized, http.StatusForbidden:
			return fmt.Errorf("%s refuses access, or has no such repository (docker login %s adds credentials): %w", n.Registry,
				n.Registry, err)
		case http.StatusNotFound:
			return fmt.Errorf("%s does not have it: %w", n.Registry, err)
		}
	}
	return err
}

// readSmall reads an answer of at most maxManifest bytes.
func (r *repository) readSmall(path string) ([]byte, error) {
	resp, err := r.ask(path, "")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if err := transport.CheckError(resp, http.StatusOK); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxManifest+1))
	if err == nil && len(text) > maxManifest {
		err = fmt.Errorf("the registry sent more than %d bytes of a manifest or configuration", maxManifest)
	}
	return text, err
}

func (r *repository) ask(path, span string) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base+path, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	if strings.HasPrefix(path, "/manifests/") {
		req.Header.Set("Accept", accepted)
	}
	if span != "" {
		req.Header.Set("Range", span)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &watched{resp.Body, time.AfterFunc(stall, cancel), cancel}
	return resp, nil
}

// watched is an answer that is given up if nothing comes for a while.
type watched struct {
	io.ReadCloser
	timer  *time.Timer
	cancel context.CancelFunc
}

// Read implements io.Reader.
func (w *watched) Read(b []byte) (int, error) {
	n, err := w.ReadCloser.Read(b)
	if !w.timer.Stop() && err != nil {
		err = fmt.Errorf("the registry sent nothing for %v: %w", stall, io.ErrUnexpectedEOF)
	}
	w.timer.Reset(stall)
	return n, err
}

// Close implements io.Closer.
func (w *watched) Close() error {
	w.timer.Stop()
	err := w.ReadCloser.Close()
	w.cancel()
	return err
}

// blob opens a layer from an offset on, or from its start if the registry cannot.
func (r *repository) blob(digest string, from int64) (io.ReadCloser, int64, error) {
	span := ""
	if from > 0 {
		span = "bytes=" + strconv.FormatInt(from, 10) + "-"
	}
	resp, err := r.ask("/blobs/"+digest, span)
	if err != nil {
		return nil, 0, err
	}
	unable := resp.StatusCode == http.StatusRequestedRangeNotSatisfiable || resp.StatusCode == http.StatusPartialContent
	partial := strings.HasPrefix(resp.Header.Get("Content-Range"), "bytes "+strconv.FormatInt(from, 10)+"-")
	switch {
	case resp.StatusCode == http.StatusOK:
		return resp.Body, 0, nil
	case resp.StatusCode == http.StatusPartialContent && partial:
		return resp.Body, from, nil
	case from > 0 && unable:
		resp.Body.Close()
		return r.blob(digest, 0)
	}
	defer resp.Body.Close()
	if err = transport.CheckError(resp, http.StatusOK); err == nil {
		err = fmt.Errorf("the registry answered %s", resp.Status)
	}
	return nil, 0, err
}
