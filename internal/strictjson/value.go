package strictjson

import (
	"encoding/json"
	"reflect"
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
		v.Set(reflect.MakeMap(v.Type()))
		return r.Members(path, func(key string) error {
			k, item := reflect.ValueOf(key).Convert(v.Type().Key()), reflect.New(v.Type().Elem())
			if v.MapIndex(k).IsValid() {
				return r.fail(join(path, key), Error{Code: Duplicate})
			}
			err := r.Value(join(path, key), item.Interface())
			v.SetMapIndex(k, item.Elem())
			return err
		})
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		return r.List(path, listOf(v.Type().Elem()), func(path string) error {
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

func (r *Reader) scalar(path string, t json.Token, v reflect.Value) error {
	want := aWhole
	switch v.Kind() {
	case reflect.String:
		if s, ok := t.(string); ok {
			v.SetString(s)
			return nil
		}
		return r.WrongType(path, t, "a string")
	case reflect.Bool:
		if b, ok := t.(bool); ok {
			v.SetBool(b)
			return nil
		}
		return r.WrongType(path, t, "true or false")
	case reflect.Float32, reflect.Float64:
		want = aNumber
	}
	n, ok := t.(json.Number)
	if !ok {
		return r.WrongType(path, t, want)
	}
	if json.Unmarshal([]byte(n), v.Addr().Interface()) != nil {
		return r.fail(path, Error{Code: Misfit, Got: t, Want: want, Limit: v.Type().Bits(), unsigned: v.CanUint()})
	}
	return nil
}

// listOf names a list of values of a type.
func listOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a list of strings"
	case reflect.Struct, reflect.Map:
		return "a list of objects"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint64, reflect.Float64:
		return "a list of numbers"
	}
	return "a list"
}
