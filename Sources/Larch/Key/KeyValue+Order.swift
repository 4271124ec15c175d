// The only comparison of values: the bytes of index keys have this order, and filters and orders
// use it on decoded values.

extension KeyValue {
  /// Negative, zero or positive. The order is total: nil is the least, NaN is the greatest number,
  /// and all NaN are equal. The NaN of `Decimal` is its least number, as in Swift.
  static func compare(_ a: KeyValue, _ b: KeyValue) -> Int {
    switch (a, b) {
    case (.null, .null): 0
    case (.bool(let a), .bool(let b)): (a ? 1 : 0) - (b ? 1 : 0)
    case (.signed(let a), .signed(let b)): a < b ? -1 : a > b ? 1 : 0
    case (.unsigned(let a), .unsigned(let b)): a < b ? -1 : a > b ? 1 : 0
    case (.float(let a), .float(let b)): compareNumbers(a, b)
    case (.double(let a), .double(let b)), (.date(let a), .date(let b)): compareNumbers(a, b)
    case (.string(let a), .string(let b)): compareNFC(a, b)
    case (.url(let a), .url(let b)): compareUTF8(a, b)
    case (.data(let a), .data(let b)), (.uuid(let a), .uuid(let b)):
      a.withUnsafeBytes { a in b.withUnsafeBytes { b in compareBytes(a, b) } }
    case (.decimal(let a), .decimal(let b)):
      a.bytes.withUnsafeBytes { a in b.bytes.withUnsafeBytes { b in compareBytes(a, b) } }
    // Values of one field have one kind, or are nil.
    default: a.rank - b.rank
    }
  }

  /// The order of keys, by the first values that differ.
  static func compare(_ a: [KeyValue], _ b: [KeyValue]) -> Int {
    let common = min(a.count, b.count)
    for place in 0..<common {
      let order = compare(a[place], b[place])
      if order != 0 { return order }
    }
    return a.count - b.count
  }

  /// Equality in filters: nil equals nil, NaN equals nothing.
  static func areEqual(_ a: [KeyValue], _ b: [KeyValue]) -> Bool {
    guard a.count == b.count else { return false }
    for place in a.indices {
      if a[place].isNaN || compare(a[place], b[place]) != 0 { return false }
    }
    return true
  }

  /// The order in filters; nil, for which no comparison is true, if one of the keys is nil itself,
  /// or if a NaN comes before the first difference.
  static func compareInFilter(_ a: [KeyValue], _ b: [KeyValue]) -> Int? {
    if isNil(a) || isNil(b) { return nil }
    let common = min(a.count, b.count)
    for place in 0..<common {
      if a[place].isNaN || b[place].isNaN { return nil }
      let order = compare(a[place], b[place])
      if order != 0 { return order }
    }
    return a.count - b.count
  }

  /// Whether these are the values of nil.
  static func isNil(_ values: [KeyValue]) -> Bool {
    if values.count == 1, case .null = values[0] { return true }
    return false
  }

  /// Whether it is a number that equals nothing and is in no range.
  var isNaN: Bool {
    switch self {
    case .float(let value): value.isNaN
    case .double(let value), .date(let value): value.isNaN
    default: false
    }
  }

  private var rank: Int {
    switch self {
    case .null: 0
    case .bool: 1
    case .signed: 2
    case .unsigned: 3
    case .float: 4
    case .double: 5
    case .date: 6
    case .string: 7
    case .data: 8
    case .uuid: 9
    case .url: 10
    case .decimal: 11
    }
  }
}

private func compareNumbers<T: BinaryFloatingPoint>(_ a: T, _ b: T) -> Int {
  if a < b { return -1 }
  if a > b { return 1 }
  return (a.isNaN ? 1 : 0) - (b.isNaN ? 1 : 0)
}

/// The keys of URLs are their unchanged bytes, since URLs are equal only then.
private func compareUTF8(_ a: String, _ b: String) -> Int {
  var a = a
  var b = b
  return a.withUTF8 { a in
    b.withUTF8 { b in compareBytes(UnsafeRawBufferPointer(a), UnsafeRawBufferPointer(b)) }
  }
}
