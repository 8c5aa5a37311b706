package strictjson

import (
	"encoding/json"
	"reflect"
	"strconv"
)

// What a value should be.
const (
	aWhole  = "a whole number"
	aNumber = "a number"
)

// Value reads a value into what to points to (Field.To).
func (r *Reader) Value(path string, to any) error {
	switch to := to.(type) {
	case []Field:
		return r.Object(path, to)
	case func(r *Reader, path string) error:
		return to(r, path)
	}
	if r.doc.Special != nil {
		if done, err := r.doc.Special(r, path, to); done || err != nil {
			return err
		}
	}
	if u, ok := to.(json.Unmarshaler); ok {
		raw, err := r.Raw(path)
		if err != nil {
			return err
		}
		return r.Fail(path, u.UnmarshalJSON(raw))
	}
	return r.kind(path, reflect.ValueOf(to).Elem())
}

func (r *Reader) kind(path string, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return r.Value(path, v.Interface())
	case reflect.Struct:
		return r.Object(path, Fields(v.Addr().Interface()))
	case reflect.Map:
		return r.Map(path, v)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		return r.List(path, "a list", func(_ int, path string) error {
			item := reflect.New(v.Type().Elem())
			err := r.Value(path, item.Interface())
			v.Set(reflect.Append(v, item.Elem()))
			return err
		})
	case reflect.Interface:
		raw, err := r.Raw(path)
		if err != nil {
			return err
		}
		return r.Fail(path, json.Unmarshal(raw, v.Addr().Interface()))
	}
	t, err := r.Token(path)
	if err != nil {
		return err
	}
	return r.scalar(path, t, v)
}

// Map reads an object with any keys into a map with keys of a string type.
func (r *Reader) Map(path string, v reflect.Value) error {
	v.Set(reflect.MakeMap(v.Type()))
	return r.Members(path, func(key string) error {
		k, item := reflect.ValueOf(key).Convert(v.Type().Key()), reflect.New(v.Type().Elem())
		if v.MapIndex(k).IsValid() {
			return r.fail(Join(path, key), Error{Code: Duplicate})
		}
		err := r.Value(Join(path, key), item.Interface())
		v.SetMapIndex(k, item.Elem())
		return err
	})
}

func (r *Reader) scalar(path string, t json.Token, v reflect.Value) error {
	want := ""
	switch n, isNumber := t.(json.Number); v.Kind() {
	case reflect.String:
		if s, ok := t.(string); ok {
			v.SetString(s)
			return nil
		}
		want = "a string"
	case reflect.Bool:
		if b, ok := t.(bool); ok {
			v.SetBool(b)
			return nil
		}
		want = "true or false"
	case reflect.Float32, reflect.Float64:
		want = aNumber
		if isNumber {
			f, err := strconv.ParseFloat(n.String(), v.Type().Bits())
			v.SetFloat(f)
			return r.fits(path, t, want, v, err)
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		want = aWhole
		if isNumber {
			u, err := strconv.ParseUint(n.String(), 10, v.Type().Bits())
			v.SetUint(u)
			return r.fits(path, t, want, v, err)
		}
	default:
		want = aWhole
		if isNumber {
			i, err := strconv.ParseInt(n.String(), 10, v.Type().Bits())
			v.SetInt(i)
			return r.fits(path, t, want, v, err)
		}
	}
	return r.WrongType(path, t, want)
}

func (r *Reader) fits(path string, t json.Token, want string, v reflect.Value, err error) error {
	if err == nil {
		return nil
	}
	return r.fail(path, Error{Code: Misfit, Got: t, Want: want, Limit: v.Type().Bits()})
}
