/// Makes the ranges of keys of an index scan: a constant for each of the first components, and
/// bounds of the next one.
struct ScanBounds: ~Copyable {
  private let index: IndexSchema
  /// The filter with the constants of each component, then the bounds of the next component.
  private let bounds: [FilterNode]
  private let pointCount: Int
  private var writer = KeyWriter()

  private(set) var ranges: [KeyRange] = []
  /// Whether a constant is too long for a key, so that the scan finds more than requested.
  private(set) var isCut = false
  /// Whether the key ends in one of the constants of the first components.
  private(set) var endsEarly = false
  /// Whether a constant does not fit the form of the component.
  private(set) var isUnwritable = false

  init(_ index: IndexSchema, _ bounds: [FilterNode], pointCount: Int) {
    self.index = index
    self.bounds = bounds
    self.pointCount = pointCount
  }

  mutating func make() {
    write(from: 0)
    KeyRange.join(&ranges)
  }

  private mutating func write(from place: Int) {
    guard place < pointCount else { return writeEnd() }
    guard case .field(let filter) = bounds[place] else {
      isUnwritable = true
      return
    }
    switch filter.test {
    case .equal(let values): write(values, at: place)
    case .oneOf(let list): for values in list { write(values, at: place) }
    case .text(let text): write([.string(text.wanted)], at: place)
    case .within: isUnwritable = true
    }
  }

  private mutating func write(_ values: [KeyValue], at place: Int) {
    let mark = writer.mark
    if !append(values, at: place) {
      isUnwritable = true
    } else if writer.isCut {
      isCut = true
      endsEarly = true
      ranges.append(.exactly(KeyPrefix(writer)))
    } else {
      write(from: place + 1)
    }
    writer.rewind(to: mark)
  }

  private mutating func append(_ values: [KeyValue], at place: Int) -> Bool {
    let component = index.fields[place]
    writer.textForm = component.textForm
    return writer.append(
      values, as: component.form, isLast: place == index.fields.count - 1)
  }

  private mutating func writeEnd() {
    let place = pointCount
    guard place < bounds.count else {
      let isComplete = place == index.fields.count
      ranges.append(.equal(to: KeyPrefix(writer), isComplete: isComplete))
      return
    }
    var found = ranges(of: bounds[place], at: place)
    for other in bounds.dropFirst(place + 1) {
      found = KeyRange.intersection(found, ranges(of: other, at: place))
    }
    // Usually the only ones.
    if ranges.isEmpty { ranges = found } else { ranges += found }
  }

  // MARK: Bounds of one component

  private mutating func ranges(of node: FilterNode, at place: Int) -> [KeyRange] {
    let isLast = place == index.fields.count - 1
    switch node {
    case .field(let filter):
      switch filter.test {
      case .equal(let values): return [range(equalTo: values, at: place)]
      case .oneOf(let list): return list.map { range(equalTo: $0, at: place) }
      case .within(let lower, let upper):
        let range = KeyRange.between(
          bound(lower, at: place), bound(upper, at: place), after: KeyPrefix(writer),
          form: index.fields[place].form, isLast: isLast)
        isCut = isCut || range.needsCheck
        return range.isEmpty ? [] : [range]
      case .text(let text):
        return [range(ofPrefix: text, at: place)]
      }
    case .not: return [.isNotNil(after: KeyPrefix(writer))]
    case .any(let nodes):
      var all: [KeyRange] = []
      for node in nodes { all += ranges(of: node, at: place) }
      KeyRange.join(&all)
      return all
    case .all, .pair, .words, .record, .related:
      isUnwritable = true
      return []
    }
  }

  private mutating func bound(_ bound: ValueBound?, at place: Int) -> KeyRange.Bound {
    guard let bound else { return .unbounded }
    let key = key(after: bound.values, at: place)
    return bound.isIncluded ? .including(key) : .excluding(key)
  }

  private mutating func range(equalTo values: [KeyValue], at place: Int) -> KeyRange {
    .equal(
      to: key(after: values, at: place), isComplete: place == index.fields.count - 1)
  }

  /// The key so far, followed by values.
  private mutating func key(after values: [KeyValue], at place: Int) -> KeyPrefix {
    let mark = writer.mark
    if !append(values, at: place) { isUnwritable = true }
    if writer.isCut { isCut = true }
    let key = KeyPrefix(writer)
    writer.rewind(to: mark)
    return key
  }

  private mutating func range(ofPrefix test: TextTest, at place: Int) -> KeyRange {
    let component = index.fields[place]
    guard component.form.unwrapped == .primitive(.string) else {
      isUnwritable = true
      return .none
    }
    let mark = writer.mark
    if component.form.isOptional { writer.appendPresent() }
    writer.textForm = component.textForm
    var text = test.kind == .like ? test.pattern?.prefix ?? "" : test.wanted
    text.withUTF8 {
      writer.append(
        stringPrefixUTF8: UnsafeRawBufferPointer($0), isLast: place == index.fields.count - 1)
    }
    let range = KeyRange.beginning(with: KeyPrefix(writer))
    if writer.isCut { isCut = true }
    writer.rewind(to: mark)
    return range
  }
}

extension KeyRange {
  /// Sorts ranges, and merges those that overlap.
  static func join(_ ranges: inout [KeyRange]) {
    if ranges.count == 1, !ranges[0].isEmpty { return }
    ranges.removeAll { $0.isEmpty }
    guard ranges.count > 1 else { return }
    ranges.sort { KeyRange.compare($0.lower, $1.lower) < 0 }
    var last = 0
    for place in 1..<ranges.count {
      let next = ranges[place]
      guard let upper = ranges[last].upper else { break }
      if KeyRange.compare(next.lower, upper) < 0 {
        ranges[last].upper = greater(upper, next.upper)
        ranges[last].needsCheck = ranges[last].needsCheck || next.needsCheck
      } else {
        last += 1
        ranges[last] = next
      }
    }
    ranges.removeLast(ranges.count - 1 - last)
  }

  /// The common part of two lists of ranges, each in order.
  static func intersection(_ first: [KeyRange], _ second: [KeyRange]) -> [KeyRange] {
    var result: [KeyRange] = []
    var a = 0
    var b = 0
    while a < first.count, b < second.count {
      let both = first[a].clamped(to: second[b])
      if !both.isEmpty { result.append(both) }
      if endsBefore(first[a].upper, second[b].upper) { a += 1 } else { b += 1 }
    }
    return result
  }

  /// The common part of this range and another.
  func clamped(to other: KeyRange) -> KeyRange {
    KeyRange(
      lower: KeyRange.compare(lower, other.lower) < 0 ? other.lower : lower,
      upper: KeyRange.endsBefore(upper, other.upper) ? upper : other.upper,
      needsCheck: needsCheck || other.needsCheck)
  }

  /// All keys.
  static var everything: KeyRange { KeyRange(lower: [], upper: nil, needsCheck: false) }

  var isEverything: Bool { lower.isEmpty && upper == nil }

  private static func endsBefore(_ a: [UInt8]?, _ b: [UInt8]?) -> Bool {
    guard let a else { return false }
    guard let b else { return true }
    return compare(a, b) < 0
  }

  private static func greater(_ a: [UInt8], _ b: [UInt8]?) -> [UInt8]? {
    guard let b else { return nil }
    return compare(a, b) < 0 ? b : a
  }

  static func compare(_ a: [UInt8], _ b: [UInt8]) -> Int {
    a.withUnsafeBytes { a in b.withUnsafeBytes { b in compareBytes(a, b) } }
  }
}
