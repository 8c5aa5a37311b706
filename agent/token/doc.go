// Package token makes and checks capability tokens: a text that states what its holder may do. The holder can narrow it
// offline; it cannot be widened.
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
// A token is a chain of one to sixteen blocks, and what it allows is what every one of them allows: the earliest expiry
// holds, the latest start, each number of runs, each policy. Block 0 is signed with the issuer's ed25519 key. Each
// block carries the public half of a fresh key, which signs the next one. A token ends with the secret half of its last
// key, which its holder needs to add a block, or with a seal: a signature with that key over all of it, after which
// nobody can add one.
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
// The content is JSON in one form only: the fields of Block in alphabetical order, no blanks, no field twice, none
// unknown. A block cannot choose its id: it could take another token's, and use up that one's runs.
//
// # Why the last block stays
//
// A holder who narrows a token gives away the new last secret and not the one before it. To cut block i off, one needs
// the secret of block i-1, to end the shorter token with, or a seal made with it. Each signature covers the one before
// it and its own position, so that a block fits nowhere else.
//
// # What it is not
//
// A token is a bearer's: anybody who has read it may use it, so an error, a log line or String never holds it. It is
// not bound to a machine, and it can be used until it expires, is spent, or is revoked; the last two are what a Ledger
// keeps. There is one signature scheme and nothing in a token names it; another one would be another prefix.
package token
