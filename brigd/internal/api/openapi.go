package api

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"brig/brigd/engine"
	"brig/brigd/internal/front"
	"brig/brigd/internal/schema"
	"brig/brigd/job"
)

type object = map[string]any

const refs = "#/components/schemas/"

// OpenAPI returns the description of this interface in version 3.1 of the OpenAPI Specification, generated from routes.
func OpenAPI(version string) []byte {
	paths := map[string]object{}
	for _, rt := range routes(&handlers{}) {
		if paths[rt.path] == nil {
			paths[rt.path] = object{}
		}
		paths[rt.path][strings.ToLower(rt.method)] = rt.operation()
	}
	doc := object{
		"openapi": "3.1.0",
		"info": object{"title": "brigd", "version": version,
			"license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
			"description": "Runs code and commands in jails. A run that has happened answers 200, whatever became of it; " +
				"where nothing has run, the answer is a Refusal."},
		"servers": []object{{"url": "http://localhost",
			"description": "brigd's Unix socket; the host name does not matter there"}},
		"security": []object{{}, {"token": []string{}}},
		"paths":    paths,
		"components": object{
			"schemas": schema.Components(refs, components()...),
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer",
				"description": "a capability token; by TCP it is needed unless a client certificate is shown"}},
			"headers": headers,
		},
	}
	text, err := json.MarshalIndent(doc, "", "\t")
	if err != nil {
		panic(err) // impossible: it is plain data
	}
	return append(text, '\n')
}

// headers are the response headers, by their names in components.
var headers = object{
	"RequestId": object{"description": "names the request in brigd's log; the request's own, if it had a good one",
		"schema": object{"type": "string"}},
	"RunId": object{"description": "the id of the run", "schema": object{"type": "string"}},
	"RetryAfter": object{"description": "when to send the same request again, in seconds",
		"schema": object{"type": "integer", "minimum": 1}},
	"Location":  object{"description": "the path of what was made", "schema": object{"type": "string"}},
	"Challenge": object{"description": "how to authenticate", "schema": object{"type": "string"}},
	"Allow":     object{"description": "the methods that the path takes", "schema": object{"type": "string"}},
}

// queueHeaders are request headers that are about a queue.
var queueHeaders = [][2]string{
	{"Idempotency-Key", "a second request of the caller's with the same key is answered as the first; only with a queue"},
	{"Prefer", "respond-async: answer with 202 and a run's id, if there is a queue (RFC 7240)"},
	{"Priority", "u=0 to u=7, the smallest first, if there is a queue: below 3, 3, or above is a class (RFC 9218)"}}

func header(name string) object { return object{"$ref": "#/components/headers/" + name} }

func ref(of any) object { return object{"$ref": refs + reflect.TypeOf(of).Name()} }

// operation returns the OpenAPI operation of a route.
func (rt *route) operation() object {
	op := object{"operationId": rt.id, "summary": rt.summary, "parameters": rt.parameters(), "responses": rt.responses()}
	switch {
	case rt.in != nil:
		op["requestBody"] = object{"required": !rt.bare, "content": object{jsonType: object{"schema": ref(rt.in)}}}
	case rt.raw != "" && rt.method == http.MethodPut:
		op["requestBody"] = object{"content": object{rt.raw: object{}, "*/*": object{}}}
	case rt.raw != "":
		op["requestBody"] = object{"content": object{rt.raw: object{}}}
	}
	if rt.open {
		op["security"] = []object{{}}
	}
	return op
}

func (rt *route) parameters() []object {
	text := object{"type": "string"}
	list := []object{{"name": "X-Agent-Id", "in": "header",
		"description": "on whose behalf, where no token says so; default: the agent \"default\"",
		"schema":      object{"type": "string", "pattern": agentPattern.String()}}}
	if strings.Contains(rt.path, "{id}") {
		list = append(list, object{"name": "id", "in": "path", "required": true,
			"schema": object{"type": "string", "pattern": front.ID.String()}})
	}
	if strings.Contains(rt.path, "{name}") {
		list = append(list, object{"name": "name", "in": "path", "required": true,
			"description": "the pid, tag or id of a process, or the number of a port",
			"schema":      object{"type": "string", "pattern": front.ID.String()}})
	}
	if strings.Contains(rt.path, "{path}") {
		list = append(list, object{"name": "path", "in": "path", "required": true, "schema": text,
			"description": "the path in the jail without its first slash, or a path below /work; slashes stand for " +
				"themselves, each name is percent-encoded for itself"})
	}
	if rt.later {
		for _, h := range queueHeaders {
			list = append(list, object{"name": h[0], "in": "header", "description": h[1], "schema": text})
		}
	}
	for _, p := range rt.query {
		s := text
		if len(p.values) > 0 {
			s = object{"type": "string", "enum": p.values}
		}
		list = append(list, object{"name": p.name, "in": "query", "description": p.about, "schema": s})
	}
	return list
}

func (rt *route) responses() object {
	ok := object{"description": "done", "headers": object{"X-Request-Id": header("RequestId")}}
	content := object{}
	switch {
	case rt.out != nil:
		content[jsonType] = object{"schema": ref(rt.out)}
	case rt.rawOut == jsonType:
		content[jsonType] = object{"schema": object{"type": "object"}}
	case rt.rawOut != "":
		content[rt.rawOut] = object{}
	}
	if rt.events {
		of := rt.eventOf
		if of == nil {
			of = engine.Event{}
		}
		ok["headers"].(object)["X-Run-Id"] = header("RunId")
		ok["description"] = "what happened; or, if asked for by Accept, a stream of Events, one a line (or one an SSE " +
			"message), the last of them \"end\""
		content[ndjsonType] = object{"schema": ref(of)}
		content[sseType] = object{"schema": object{"type": "string"}}
	}
	if rt.stream != nil {
		ok["description"] = "a stream of events, one a line (or, if asked for by Accept, one an SSE message)"
		content[ndjsonType] = object{"schema": ref(rt.stream)}
		content[sseType] = object{"schema": object{"type": "string"}}
	}
	if rt.status == http.StatusCreated {
		ok["headers"].(object)["Location"] = header("Location")
	}
	if len(content) > 0 {
		ok["content"] = content
	}
	out := object{strconv.Itoa(rt.status): ok}
	for _, status := range append(append([]int(nil), usual...), rt.fails...) {
		out[strconv.Itoa(status)] = failure(status)
	}
	if rt.later {
		out["202"] = object{"description": "it is in the queue: the request has the header Prefer: respond-async",
			"headers": object{"X-Request-Id": header("RequestId"), "X-Run-Id": header("RunId"), "Location": header("Location")},
			"content": object{jsonType: object{"schema": ref(RunInfo{})}}}
	}
	if rt.open {
		out["503"] = object{"description": "it takes no runs", "content": object{jsonType: object{"schema": ref(rt.out)}}}
	}
	return out
}

// failure returns the OpenAPI response for a refusal.
func failure(status int) object {
	h := object{"X-Request-Id": header("RequestId")}
	switch status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h["Retry-After"] = header("RetryAfter")
	case http.StatusUnauthorized:
		h["WWW-Authenticate"] = header("Challenge")
	case http.StatusMethodNotAllowed:
		h["Allow"] = header("Allow")
	}
	return object{"description": http.StatusText(status), "headers": h,
		"content": object{jsonType: object{"schema": ref(job.Refusal{})}}}
}
