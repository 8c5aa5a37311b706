// Package token creates and checks capability tokens. A token is a text that states what its holder may do. A holder
// can narrow it without a server. Widening it needs the issuer's key.
//
//	t, err := token.Mint(key, token.Block{Agent: "ci", Expires: time.Now().Add(time.Hour)})
//	t, err = token.Attenuate(t, token.Block{Runs: 3, Policy: json.RawMessage(`{"languages":["python"]}`)})
//	fmt.Println(t.Text())
//
//	t, err := token.Parse(text)
//	err = token.Verify(t, keys, time.Now())
//	err = ledger.Spend(t, time.Now())
//
// # Format
//
// A token is a chain of one to sixteen blocks. It allows what all of its blocks allow: the earliest expiry, the latest
// start, every limit of runs and every policy apply. Block 0 is signed with the issuer's ed25519 key. Each block
// contains the public half of a fresh key, which signs the next block. A token ends with the secret half of its last
// key, which its holder needs to add a block. Or it ends with a seal: a signature with that key over the whole token,
// after which no block can be added.
//
//	raw     issuer[8] count block... end
//	block   length[2] content next[32] signature[64]     big endian
//	end     0 secret[32]  |  1 seal[64]
//	text    "brig1." and raw in unpadded base64url (RFC 4648, section 5), at most MaxText bytes
//
//	signature of block i, with the issuer's key or the one of block i-1, over
//	        "brig token 1: block\0" i[1] issuer[8] (signature of block i-1)[64] length[2] content next[32]
//	seal    with the last key, over "brig token 1: seal\0" and raw up to the seal
//	issuer  the first 8 bytes of SHA-256 of the issuer's public key: which of several trusted keys to try
//	id      of block i: the first 16 bytes of SHA-256 of "brig token 1: id\0", what is signed, and the signature
//
// The content is JSON in a canonical form: the fields of Block in alphabetical order, without white space, duplicate or
// unknown fields. A block cannot choose its id. Otherwise it could take the id of another token's block and use up its
// runs.
//
// # Why the last block cannot be removed
//
// A holder who narrows a token passes on the new last secret, but not the previous one. To remove block i, one needs
// the secret of block i-1, to end the shorter token with it or with a seal made with it. Each signature covers the
// previous one and its own position, so a block is valid in one place only.
//
// # Limitations
//
// A token is a bearer token: anyone who has read it can use it. Therefore errors, log lines and String never contain
// it. It is not bound to a machine. It can be used until it expires, is spent or is revoked; a Ledger records the last
// two. There is only one signature scheme, and a token does not name it. Another scheme would have another prefix.
package token
