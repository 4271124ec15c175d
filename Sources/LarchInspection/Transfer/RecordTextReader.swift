internal import Larch

/// Makes the bytes of a stored record from what `RecordTextWriter` wrote, or from anything else:
/// whatever is no record is refused.
struct RecordTextReader {
  /// What is wrong with a record, in a sentence, and where in it.
  struct Problem: Error {
    let reason: StaticString
    let path: String
  }

  /// The shapes that the text names by their numbers; nil where there is none of a number.
  private let shape: (Int) throws -> Shape?
  private(set) var bytes: [UInt8] = []
  private var path: [String] = []

  /// - Parameter shape: from the number in the text to the shape that is stored.
  init(shape: @escaping (Int) throws -> Shape?) { self.shape = shape }

  /// The bytes of the record in a member `record` of a line.
  mutating func record(_ node: JSONNode) throws -> [UInt8] {
    bytes.removeAll(keepingCapacity: true)
    path = []
    try appendRecord(node, depth: 0)
    return bytes
  }

  /// The bytes of the record in a member `value` of a line.
  mutating func value(_ node: JSONNode) throws -> [UInt8] {
    bytes = [0, 0]
    path = []
    try appendTagged(node, depth: 0)
    return bytes
  }

  private func problem(_ reason: StaticString) -> Problem {
    Problem(reason: reason, path: path.joined(separator: "."))
  }

  // MARK: Kinds

  /// The kind in the name of the only member of an object, with what it is around.
  private func mark(of node: JSONNode) -> (kind: FieldKind, inside: JSONNode)? {
    guard case .object(let members) = node, members.count == 1,
      members[0].name.hasPrefix(RecordTextWriter.mark),
      let kind = Self.kinds[String(members[0].name.dropFirst())]
    else { return nil }
    return (kind, members[0].value)
  }

  private static let kinds = Dictionary(
    uniqueKeysWithValues: FieldKind.allCases.map { ($0.name, $0) })

  /// The kind that a value has where its place does not tell it; nil for null.
  private func kind(of node: JSONNode) -> FieldKind? {
    switch node {
    case .null: return nil
    case .bool: return .bool
    case .number(let text):
      return text.utf8.contains { $0 == 0x2E || $0 | 0x20 == 0x65 } ? .double : .int64
    case .string: return .string
    case .array: return .list
    case .object(let members):
      if members.first?.name == "$shape" { return .record }
      guard let (kind, inside) = mark(of: node) else { return .map }
      switch inside {
      case .array: return .list
      case .object: return .map
      default: return kind
      }
    }
  }

  /// The kind of all these values, `tagged` when there are several or a null.
  private func commonKind(_ nodes: some Sequence<JSONNode>) -> FieldKind {
    var first: FieldKind?
    for node in nodes {
      guard let kind = kind(of: node), first == nil || first == kind else { return .tagged }
      first = kind
    }
    return first ?? .tagged
  }

  // MARK: Values

  private mutating func append<T: FixedWidthInteger>(_ value: T) {
    withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
  }

  private mutating func append(varint value: Int) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  private mutating func appendTagged(_ node: JSONNode, depth: Int) throws {
    guard let kind = kind(of: node) else { return bytes.append(0) }
    guard kind != .tagged else { throw problem("The mark `$tagged` is not around a list.") }
    bytes.append(kind.rawValue)
    try appendElement(node, kind, depth: depth)
  }

  /// A value that tells its own length.
  private mutating func appendElement(_ node: JSONNode, _ kind: FieldKind, depth: Int) throws {
    if kind == .tagged { return try appendTagged(node, depth: depth) }
    if kind.hasLongLength {
      let start = bytes.count
      append(UInt32(0))
      try appendSlot(node, kind, depth: depth + 1)
      let length = bytes.count - start - 4
      guard length <= RecordFormat.lengthLimit else { throw problem("A value is too long.") }
      for place in 0..<4 { bytes[start + place] = UInt8(truncatingIfNeeded: length >> (place * 8)) }
      return
    }
    let value = try scalar(node, kind)
    if kind.hasShortLength { append(varint: value.count) }
    bytes += value
  }

  /// A value whose length its place tells.
  private mutating func appendSlot(_ node: JSONNode, _ kind: FieldKind, depth: Int) throws {
    guard depth < RecordFormat.depthLimit else {
      throw problem("Values lie deeper in each other than a record may hold.")
    }
    switch kind {
    case .record: try appendRecord(node, depth: depth)
    case .list: try appendList(node, depth: depth)
    case .map: try appendMap(node, depth: depth)
    case .tagged: try appendTagged(node, depth: depth)
    default: bytes += try scalar(node, kind)
    }
  }

  private func scalar(_ node: JSONNode, _ kind: FieldKind) throws -> [UInt8] {
    var inside = node
    if let marked = mark(of: node), marked.kind == kind { inside = marked.inside }
    guard let value = ExactText.bytes(of: inside, kind) else {
      throw problem("A value is not of the kind that the shape says.")
    }
    return value
  }

  private mutating func appendList(_ node: JSONNode, depth: Int) throws {
    let marked = mark(of: node)
    guard let elements = (marked?.inside ?? node).array else {
      throw problem("A value is not of the kind that the shape says.")
    }
    let kind = marked?.kind ?? commonKind(elements)
    bytes.append(elements.isEmpty ? 0 : kind.rawValue)
    append(varint: elements.count)
    for (index, element) in elements.enumerated() {
      path.append("\(index)")
      try appendElement(element, kind, depth: depth)
      path.removeLast()
    }
  }

  private mutating func appendMap(_ node: JSONNode, depth: Int) throws {
    let marked = mark(of: node)
    guard case .object(let members) = marked?.inside ?? node else {
      throw problem("A value is not of the kind that the shape says.")
    }
    let kind = marked?.kind ?? commonKind(members.lazy.map(\.value))
    let entries = try members.map { (key: Array(try name(of: $0).utf8), value: $0.value) }
      .sorted { $0.key.lexicographicallyPrecedes($1.key) }
    for (entry, next) in zip(entries, entries.dropFirst()) where entry.key == next.key {
      throw problem("A key comes twice.")
    }
    bytes.append(entries.isEmpty ? 0 : kind.rawValue)
    append(varint: entries.count)
    for entry in entries {
      append(varint: entry.key.count)
      bytes += entry.key
      path.append(String(decoding: entry.key, as: UTF8.self))
      try appendElement(entry.value, kind, depth: depth)
      path.removeLast()
    }
  }

  /// The name of a field or an entry, without the mark that one with such a mark has.
  private func name(of member: JSONNode.Member) throws -> String {
    guard member.name.hasPrefix(RecordTextWriter.mark) else { return member.name }
    guard member.name.hasPrefix("$$") else {
      throw problem("A name with `$` before it is none that the format knows.")
    }
    return String(member.name.dropFirst())
  }

  // MARK: Records

  private mutating func appendRecord(_ node: JSONNode, depth: Int) throws {
    guard case .object(let members) = node, let first = members.first, first.name == "$shape",
      let number = first.value.integer(Int.self)
    else { throw problem("A record begins with the number of its shape, `$shape`.") }
    guard let shape = try shape(number) else {
      throw problem("The header of the file has no shape of this number.")
    }
    var values = [JSONNode?](repeating: nil, count: shape.fields.count)
    for member in members.dropFirst() {
      let name = try name(of: member)
      guard let slot = shape.slot(of: name), shape.fields[slot].name.utf8.elementsEqual(name.utf8)
      else { throw problem("A record has a field that its shape does not have.") }
      guard values[slot] == nil else { throw problem("A field comes twice.") }
      values[slot] = member.value
    }
    let start = bytes.count
    bytes.append(contentsOf: repeatElement(0, count: shape.slotsEnd))
    var ends: [Int] = []
    for (slot, field) in shape.fields.enumerated() {
      guard let value = values[slot] else {
        if !field.kind.isFixed { ends.append(bytes.count - start) }
        continue
      }
      path.append(field.name)
      bytes[start + 2 + slot >> 3] |= 1 << UInt8(slot & 7)
      if field.kind.isFixed {
        let offset = start + Int(shape.layouts[slot].offset)
        bytes.replaceSubrange(
          offset..<offset + field.kind.width, with: try scalar(value, field.kind))
      } else {
        try appendSlot(value, field.kind, depth: depth + 1)
        ends.append(bytes.count - start)
      }
      path.removeLast()
    }
    guard bytes.count - start <= RecordFormat.lengthLimit else {
      throw problem("A value is too long.")
    }
    finish(shape, from: start, ends: ends)
  }

  /// Writes header and ends, and makes room for long ones where the record asks for them.
  private mutating func finish(_ shape: Shape, from start: Int, ends: [Int]) {
    let isWide = bytes.count - start > RecordFormat.narrowLimit
    let header = shape.id | (isWide ? RecordFormat.wideBit : 0)
    bytes[start] = UInt8(truncatingIfNeeded: header)
    bytes[start + 1] = UInt8(truncatingIfNeeded: header >> 8)
    var ends = ends.makeIterator()
    if !isWide {
      for (slot, field) in shape.fields.enumerated() where !field.kind.isFixed {
        guard let end = ends.next() else { return }
        let offset = start + Int(shape.layouts[slot].offset)
        bytes[offset] = UInt8(truncatingIfNeeded: end)
        bytes[offset + 1] = UInt8(truncatingIfNeeded: end >> 8)
      }
      return
    }
    let growth = shape.wideSlotsEnd - shape.slotsEnd
    var slots = [UInt8](repeating: 0, count: shape.wideSlotsEnd)
    let head = 2 + shape.maskBytes
    slots.replaceSubrange(0..<head, with: bytes[start..<start + head])
    for (slot, field) in shape.fields.enumerated() {
      let narrow = start + Int(shape.layouts[slot].offset)
      let wide = Int(shape.layouts[slot].wideOffset)
      if field.kind.isFixed {
        slots.replaceSubrange(
          wide..<wide + field.kind.width, with: bytes[narrow..<narrow + field.kind.width])
      } else if let end = ends.next() {
        for place in 0..<4 {
          slots[wide + place] = UInt8(truncatingIfNeeded: (end + growth) >> (place * 8))
        }
      }
    }
    bytes.replaceSubrange(start..<start + shape.slotsEnd, with: slots)
  }
}
