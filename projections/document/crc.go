package document

import "hash/crc32"

// CombineCRC32 returns the IEEE CRC-32 of a text whose first part has checksum
// first and whose second part, of length bytes, has checksum second. Appending
// n zero bits to a text multiplies its checksum by x^n modulo the polynomial;
// the checksum of the whole is that product plus (exclusive or) the second.
func CombineCRC32(first, second uint32, length int64) uint32 {
	return multiply(powerOfX(8*uint64(length)), first) ^ second
}

// multiply returns a·b modulo the polynomial, coefficients reflected: the
// highest bit is x^0.
func multiply(a, b uint32) uint32 {
	var product uint32
	for bit := uint32(1 << 31); bit != 0 && a != 0; bit >>= 1 {
		if a&bit != 0 {
			product ^= b
			a ^= bit
		}
		if b&1 != 0 {
			b = b>>1 ^ crc32.IEEE
		} else {
			b >>= 1
		}
	}
	return product
}

// powerOfX returns x^n modulo the polynomial, by squaring.
func powerOfX(n uint64) uint32 {
	result, square := uint32(1<<31), uint32(1<<30) // x^0, x^1
	for ; n != 0; n >>= 1 {
		if n&1 != 0 {
			result = multiply(square, result)
		}
		square = multiply(square, square)
	}
	return result
}
