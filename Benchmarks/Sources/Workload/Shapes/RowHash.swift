/// How much of a text or of bytes counts in a checksum. A timed operation sums lengths, as it would
/// otherwise measure the summing; what is compared untimed sums every byte.
@usableFromInline
package enum HashDepth: Sendable {
  case lengths, bytes
}

/// The checksum of a row: its values in their order. `row_hash.h` is the same in C.
@frozen @usableFromInline
package struct RowHash {
  @usableFromInline package var value: UInt64 = 0x4C41_5243_4853_4850

  @inlinable @inline(__always)
  package init() {}

  @inlinable @inline(__always)
  package mutating func add(bits: UInt64) {
    value = (value ^ bits) &* 0x9E37_79B9_7F4A_7C15
    value ^= value >> 29
  }

  @inlinable @inline(__always)
  package mutating func add(_ number: Int) {
    add(bits: UInt64(bitPattern: Int64(number)))
  }

  @inlinable @inline(__always)
  package mutating func add(_ number: Int64) {
    add(bits: UInt64(bitPattern: number))
  }

  @inlinable @inline(__always)
  package mutating func add(_ number: Double) {
    add(bits: number.bitPattern)
  }

  @inlinable @inline(__always)
  package mutating func addNil() {
    add(bits: 0x6E69_6C6E_696C)
  }

  @inlinable @inline(__always)
  package mutating func add(_ text: String, _ depth: HashDepth) {
    add(text.utf8.count)
    if depth == .bytes { add(bytes: text) }
  }

  @inlinable @inline(__always)
  package mutating func add(_ text: String?, _ depth: HashDepth) {
    if let text { add(text, depth) } else { addNil() }
  }

  /// FNV-1a-64 of the text.
  @inlinable
  package mutating func add(bytes text: String) {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    add(bits: hash)
  }
}

extension QueryResult {
  @inlinable @inline(__always)
  package init() {
    self.init(rows: 0, checksum: 0)
  }

  @inlinable @inline(__always)
  package mutating func add(_ row: RowHash) {
    rows += 1
    checksum &+= row.value
  }

  @inlinable @inline(__always)
  package static func += (sum: inout QueryResult, other: QueryResult) {
    sum.rows += other.rows
    sum.checksum &+= other.checksum
  }

  /// A row with one number, such as a count or a sum.
  @inlinable @inline(__always)
  package mutating func add(number: Int) {
    var row = RowHash()
    row.add(number)
    add(row)
  }

  @inlinable @inline(__always)
  package mutating func add(number: Double) {
    var row = RowHash()
    row.add(number)
    add(row)
  }

  /// A group with the number of its records.
  @inlinable @inline(__always)
  package mutating func add(group: String, count: Int) {
    var row = RowHash()
    row.add(group, .bytes)
    row.add(count)
    add(row)
  }

  @inlinable @inline(__always)
  package mutating func add(group: Int, count: Int) {
    var row = RowHash()
    row.add(group)
    row.add(count)
    add(row)
  }
}

/// A record of the workload, or of a peer that is to hold the same.
package protocol HashedRow {
  /// Adds the row, and the rows of whatever lists belong to it.
  func add(to result: inout QueryResult, _ depth: HashDepth)
}
