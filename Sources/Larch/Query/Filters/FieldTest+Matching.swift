internal import Foundation

extension FieldTest {
  /// Whether the test is true for the values of a field, or of one element of it.
  package func matches(_ values: [KeyValue]) -> Bool {
    switch self {
    case .equal(let wanted): return KeyValue.areEqual(values, wanted)
    case .within(let lower, let upper):
      if KeyValue.isNil(values) || values.contains(where: \.isNaN) && values.count == 1 {
        return false
      }
      if let lower {
        guard let order = KeyValue.compareInFilter(values, lower.values),
          order > 0 || (order == 0 && lower.isIncluded)
        else { return false }
      }
      if let upper {
        guard let order = KeyValue.compareInFilter(values, upper.values),
          order < 0 || (order == 0 && upper.isIncluded)
        else { return false }
      }
      return true
    case .oneOf(let list): return Self.contains(list, values)
    case .text(let test):
      guard values.count == 1, case .string(let text) = values[0] else { return false }
      return test.matches(text)
    }
  }

  /// One of the values: they are sorted, without duplicates and without NaN.
  package static func oneOf(anyOrder list: [[KeyValue]]) -> FieldTest {
    let sorted = list.filter { !$0.contains(where: \.isNaN) }
      .sorted { KeyValue.compare($0, $1) < 0 }
    var distinct: [[KeyValue]] = []
    for values in sorted where distinct.last.map({ KeyValue.compare($0, values) != 0 }) ?? true {
      distinct.append(values)
    }
    return .oneOf(distinct)
  }

  private static func contains(_ list: [[KeyValue]], _ values: [KeyValue]) -> Bool {
    var low = 0
    var high = list.count
    while low < high {
      let middle = (low + high) / 2
      let order = KeyValue.compare(list[middle], values)
      // The list has no NaN; equal in the order means equal.
      if order == 0 { return true }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return false
  }
}

extension TextTest {
  /// Whether the test is true for a text, compared by `Character` as in Swift.
  func matches(_ text: String) -> Bool { matches(folded: textForm.folded(text)) }

  /// The same for a text in the form of the test.
  func matches(folded text: String) -> Bool {
    switch kind {
    case .equal: return compareNFC(text, wanted) == 0
    case .hasPrefix: return text.hasPrefix(wanted)
    case .hasSuffix: return text.hasSuffix(wanted)
    case .contains: return Self.contains(text, wanted)
    case .like: return pattern?.matches(text) ?? false
    }
  }

  private static func contains(_ text: String, _ wanted: String) -> Bool {
    var text = text
    var wanted = wanted
    let answer: Bool? = text.withUTF8 { text in
      wanted.withUTF8 { wanted -> Bool? in
        if wanted.isEmpty { return true }
        guard text.isPlainASCII, wanted.isPlainASCII, let start = text.baseAddress,
          let other = wanted.baseAddress
        else { return nil }
        return Self.holds(UnsafeRawPointer(start), text.count, other, wanted.count)
      }
    }
    if let answer { return answer }
    // By characters: Foundation's own `contains` differs from Swift's.
    return Array(text).contains(Array(wanted))
  }

  private static func holds(
    _ text: UnsafeRawPointer, _ count: Int, _ wanted: UnsafePointer<UInt8>, _ wantedCount: Int
  ) -> Bool {
    var offset = 0
    while count - offset >= wantedCount {
      guard
        let found = memchr(text + offset, Int32(wanted[0]), count - offset - wantedCount + 1)
      else { return false }
      offset = UnsafeRawPointer(found) - text
      if memcmp(found, wanted, wantedCount) == 0 { return true }
      offset += 1
    }
    return false
  }
}
