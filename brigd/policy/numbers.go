package policy

import (
	"fmt"
	"math"
	"reflect"

	egress "brig/netns/egress/policy"
	"brig/nsjail"
)

// millionths of a processor are how number counts processors.
const millionths = 1e6

// number returns the bound or limit that field points to.
func number(field any) int64 {
	v := reflect.ValueOf(field).Elem()
	if v.CanFloat() {
		return int64(math.Round(min(v.Float()*millionths, math.MaxInt64/4)))
	}
	return v.Int()
}

// setNumber is the reverse of number.
func setNumber(field any, n int64) {
	if v := reflect.ValueOf(field).Elem(); v.CanFloat() {
		v.SetFloat(float64(n) / millionths)
	} else {
		v.SetInt(n)
	}
}

// show formats a number according to the type of field.
func show(field any, n int64) string {
	switch field.(type) {
	case *nsjail.Duration, *egress.Duration:
		return nsjail.Duration(n).String()
	case *nsjail.Bytes, *egress.Bytes:
		return nsjail.Bytes(n).String()
	case *float64:
		return fmt.Sprint(float64(n) / millionths)
	}
	return fmt.Sprint(n)
}

// showOr is show, for a limit that may be missing.
func showOr(field any, n int64) string {
	if n == math.MaxInt64 {
		return "none"
	}
	return show(field, n)
}
