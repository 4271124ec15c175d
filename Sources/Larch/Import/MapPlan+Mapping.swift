/// An element in the form of its type, as a map made it.
struct MappedElement {
  /// The JSON that the decoder of the type reads.
  var bytes: [UInt8]
  /// The values that are not in it, by key.
  var given: [String: Any] = [:]
  /// The place of the value of each link, in the bytes of the element.
  var links: [Range<Int>?] = []

  /// Runs `body` with the element as the input of a decoder.
  func withInput<T>(_ body: (ElementInput) throws -> T) rethrows -> T {
    try bytes.withUnsafeBytes { raw in
      var input = ElementInput(raw)
      input.given = given
      return try body(input)
    }
  }
}

extension MapPlan {
  /// The element in the form of its type.
  ///
  /// Values are copied as they are, so the decoder of the type checks them, and its errors are those
  /// of an import without a map.
  ///
  /// - Throws: the error of the decoder for bytes that are no JSON; `.unknownKey` if the import refuses
  ///   unknown keys; a `KeyedError` for a date in another form.
  func mapped(
    _ source: UnsafeRawBufferPointer, _ tally: inout MapTally
  ) throws -> MappedElement {
    do { return try map(source, &tally) } catch is JSONCursor.Malformed {
      throw decoder.malformed(source)
    }
  }

  private func map(
    _ source: UnsafeRawBufferPointer, _ tally: inout MapTally
  ) throws -> MappedElement {
    var cursor = JSONCursor(source)
    // The decoder has an error for what is no object.
    guard try cursor.kind() == .object else {
      return MappedElement(bytes: Array(source), links: Array(repeating: nil, count: links.count))
    }
    for slot in found.indices {
      found[slot] = nil
      isUsed[slot] = false
    }
    var element = MappedElement(bytes: [])
    element.bytes.reserveCapacity(source.count + 64)
    element.bytes.append(UInt8(ascii: "{"))
    try collect(&cursor, &element, &tally)
    guard cursor.isAtEnd() else { throw JSONCursor.Malformed() }
    if session.options.unknownKeys == .refuse, let first = tally.unknown.keys.min() {
      throw LarchError.unknownKey(first, tally.unknown.keys.sorted(), in: R.collectionName)
    }
    for field in fields { try add(field, source, &element, &tally) }
    for (keys, link) in links {
      let value = choose(keys, source)
      element.links.append(value)
      guard link.isField, let name = link.name, let value, isNull(value, source) else { continue }
      begin(&element.bytes)
      JSONValue.write(name, to: &element.bytes)
      element.bytes += ":null".utf8
    }
    element.bytes.append(UInt8(ascii: "}"))
    for slot in found.indices where !isUsed[slot] {
      if let value = found[slot], !isNull(value, source) {
        tally.unused[slotKeys[slot].path, default: 0] += 1
      }
    }
    return element
  }

  private func begin(_ bytes: inout [UInt8]) {
    if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
  }

  // MARK: Reading

  /// Copies the members that the type reads itself, and notes the places of the others.
  private func collect(
    _ cursor: inout JSONCursor, _ element: inout MappedElement, _ tally: inout MapTally
  ) throws {
    let source = cursor.bytes
    var hint = 0
    try cursor.forEachMember { key, value in
      var known: MapKey?
      if key.isEscaped {
        let name = Array(try JSONCursor.characters(key, of: source).utf8)
        known = name.withUnsafeBytes { root.find($0, &hint) }
      } else {
        known = root.find(UnsafeRawBufferPointer(rebasing: source[key.range]), &hint)
      }
      let role = try role(of: known, try JSONCursor.characters(key, of: source))
      let isPath = try known.map { try note($0, source, value, role == .own, &tally) } ?? false
      switch role {
      case .own: break
      case .other where !isPath: break
      case .hidden where !isPath:
        return tally.noteUnknown(try JSONCursor.characters(key, of: source))
      default: return
      }
      begin(&element.bytes)
      let start = key.range.lowerBound - 1
      element.bytes += UnsafeRawBufferPointer(rebasing: source[start..<value.upperBound])
      if let slot = known?.slot { isUsed[slot] = true }
    }
  }

  /// Notes the value of a path, and those of paths that go on.
  ///
  /// - Returns: whether a path has the key.
  private func note(
    _ key: MapKey, _ source: UnsafeRawBufferPointer, _ value: Range<Int>, _ isWhole: Bool,
    _ tally: inout MapTally
  ) throws -> Bool {
    // Of a key that occurs twice the first counts, as for the decoder.
    if let slot = key.slot, found[slot] == nil { found[slot] = value }
    if !key.children.isEmpty {
      try descend(key, source, value, key.slot != nil || isWhole, &tally)
      return true
    }
    return key.slot != nil
  }

  /// - Parameter isWhole: whether something else takes the whole value, so that none of its parts is
  ///   unknown.
  private func descend(
    _ key: MapKey, _ source: UnsafeRawBufferPointer, _ value: Range<Int>, _ isWhole: Bool,
    _ tally: inout MapTally
  ) throws {
    var cursor = JSONCursor(source, value)
    func unknown(_ name: String) {
      if !isWhole { tally.noteUnknown(name) }
    }
    switch try cursor.kind() {
    case .object:
      var hint = 0
      try cursor.forEachMember { name, part in
        let text = Array(try JSONCursor.characters(name, of: source).utf8)
        if let next = text.withUnsafeBytes({ key.find($0, &hint) }) {
          _ = try note(next, source, part, isWhole, &tally)
        } else {
          unknown("\(key.path).\(String(decoding: text, as: UTF8.self))")
        }
      }
    case .list:
      var place = 0
      try cursor.forEachItem { part in
        if let next = key.find(place: place) {
          _ = try note(next, source, part, isWhole, &tally)
        } else {
          unknown("\(key.path)[]")
        }
        place += 1
      }
    case .null: break
    case _: unknown(key.path)
    }
  }

  // MARK: Writing

  private func isNull(_ value: Range<Int>, _ source: UnsafeRawBufferPointer) -> Bool {
    source[value.lowerBound] == UInt8(ascii: "n")
  }

  /// The first value other than null; null if there is only that.
  private func choose(_ keys: [MapKey], _ source: UnsafeRawBufferPointer) -> Range<Int>? {
    var null: Range<Int>?
    for key in keys {
      guard let slot = key.slot, let value = found[slot] else { continue }
      if isNull(value, source) {
        null = null ?? value
      } else {
        isUsed[slot] = true
        return value
      }
    }
    return null
  }

  private func add(
    _ field: Field, _ source: UnsafeRawBufferPointer, _ element: inout MappedElement,
    _ tally: inout MapTally
  ) throws {
    guard let value = choose(field.keys, source) else { return }
    if field.isConverted, !isNull(value, source) {
      let key = field.keys.first { $0.slot.map { found[$0] == value } == true }?.path ?? field.name
      return try convert(field, key, source, value, &element, &tally)
    }
    begin(&element.bytes)
    element.bytes += field.quoted
    element.bytes += UnsafeRawBufferPointer(rebasing: source[value])
  }

  /// Adds a value that is written in another form than the type reads.
  func convert(
    _ field: Field, _ key: String, _ source: UnsafeRawBufferPointer, _ value: Range<Int>,
    _ element: inout MappedElement, _ tally: inout MapTally
  ) throws {
    var cursor = JSONCursor(source, value)
    let kind = try cursor.kind()
    let token =
      kind == .text
      ? try JSONCursor.characters(try cursor.string(), of: source)
      : String(decoding: source[value], as: UTF8.self)
    switch field.conversion {
    case .date(let reader, let isCoerced):
      let isNatural = kind == (reader.isNumber ? .number : .text)
      let isOther = kind == .number || kind == .text
      guard isNatural || isCoerced && isOther, let date = reader.date(token) else {
        throw KeyedError(key: key, error: wrongDate(field.name, reader))
      }
      if !isNatural { tally.coerced[key, default: 0] += 1 }
      element.given[field.name] = date
    case .coerced(let wanted):
      begin(&element.bytes)
      element.bytes += field.quoted
      if let other = wanted.convert(kind, token) {
        tally.coerced[key, default: 0] += 1
        element.bytes += other.utf8
      } else {
        element.bytes += UnsafeRawBufferPointer(rebasing: source[value])
      }
    case .none:
      begin(&element.bytes)
      element.bytes += field.quoted
      element.bytes += UnsafeRawBufferPointer(rebasing: source[value])
    }
  }

  private func wrongDate(_ name: String, _ reader: DateReader) -> LarchError {
    LarchError(
      .elementMismatch,
      "An element has another form of a date than its map says; correct the element, or the map."
    ) {
      $0.collection = R.collectionName
      $0.field = name
      $0.detail = "the value is not \(reader.text)"
    }
  }
}

extension LarchError {
  /// The error of an element with keys that nothing reads.
  static func unknownKey(_ first: String, _ all: [String], in collection: String) -> LarchError {
    LarchError(
      .unknownKey,
      "An element has a key that the type does not have; remove the key, or let the import report unknown keys."
    ) {
      $0.collection = collection
      $0.field = first
      $0.detail = "unknown keys: " + all.joined(separator: ", ")
    }
  }
}
