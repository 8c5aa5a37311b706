package layer

// Names of entries that take away what is in the layers below, as the OCI image specification has them.
const (
	whiteoutPrefix = ".wh."
	metaPrefix     = ".wh..wh."
	opaqueName     = ".wh..wh..opq"
)
