package strictjson

import "reflect"

// Schema is the JSON Schema (draft 2020-12) of an object of fields. special returns the schema of a type that has a
// form of its own, given a pointer to it, or nil.
func Schema(fields []Field, special func(to any) map[string]any) map[string]any {
	properties := map[string]any{}
	for _, f := range fields {
		s := schema(f.To, special)
		if f.Doc != "" {
			s["description"] = f.Doc
		}
		properties[f.Name] = s
	}
	return map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
}

func schema(to any, special func(to any) map[string]any) map[string]any {
	if fields, ok := to.([]Field); ok {
		return Schema(fields, special)
	}
	if s := special(to); s != nil {
		return s
	}
	switch t := reflect.TypeOf(to).Elem(); t.Kind() {
	case reflect.Pointer:
		return schema(reflect.New(t.Elem()).Interface(), special)
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schema(reflect.New(t.Elem()).Interface(), special)}
	case reflect.Struct:
		return Schema(Fields(to), special)
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Map, reflect.Interface, reflect.Func:
		return map[string]any{}
	}
	return map[string]any{"type": "integer"}
}
