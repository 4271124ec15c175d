internal import Foundation

/// How an array, or a dictionary with texts as keys, becomes bytes: the form of its elements.
final class MemberwiseList: Sendable {
  let memory: any MemberwiseCollection.Type
  let element: MemberwisePlan.Form
  /// The kind of each element.
  let kind: FieldKind
  let stride: Int

  init(_ memory: any MemberwiseCollection.Type, of element: MemberwisePlan.Form) {
    self.memory = memory
    self.element = element
    // Elements are never of the other kind: the whole list is then read through its own coding.
    kind = element.kind ?? .tagged
    func stride<Element>(_: Element.Type) -> Int { MemoryLayout<Element>.stride }
    self.stride = _openExistential(memory.elementType, do: stride)
  }

  var isMap: Bool { memory.isMap }
}

/// A collection whose type is known only at run time.
protocol MemberwiseCollection: SendableMetatype {
  static var elementType: Any.Type { get }
  static var isMap: Bool { get }
  /// Calls `body` with the number of elements, and a function for the key, if any, and the place of
  /// each in the order of writing.
  static func write(
    _ collection: UnsafeRawPointer, count: (Int) -> Void,
    each: (String?, UnsafeRawPointer) -> Bool
  ) -> Bool
  /// Initializes the collection from `count` elements; `next` initializes one, and gives its key.
  /// False, with nothing initialized, if it fails.
  static func read(
    into place: UnsafeMutableRawPointer, count: Int,
    next: (inout String, UnsafeMutableRawPointer) -> Bool
  ) -> Bool
}

extension MemberwiseCollection {
  fileprivate static func destroy(_ place: UnsafeMutableRawPointer) {
    place.assumingMemoryBound(to: Self.self).deinitialize(count: 1)
  }
}

extension Array: MemberwiseCollection {
  static var elementType: Any.Type { Element.self }
  static var isMap: Bool { false }

  static func write(
    _ collection: UnsafeRawPointer, count: (Int) -> Void,
    each: (String?, UnsafeRawPointer) -> Bool
  ) -> Bool {
    collection.assumingMemoryBound(to: Self.self).pointee.withUnsafeBufferPointer { elements in
      count(elements.count)
      guard var next = elements.baseAddress else { return true }
      for _ in 0..<elements.count {
        guard each(nil, UnsafeRawPointer(next)) else { return false }
        next += 1
      }
      return true
    }
  }

  static func read(
    into place: UnsafeMutableRawPointer, count: Int,
    next: (inout String, UnsafeMutableRawPointer) -> Bool
  ) -> Bool {
    var key = ""
    var isWhole = true
    let array = Self(unsafeUninitializedCapacity: count) { memory, done in
      while done < count, let base = memory.baseAddress {
        guard next(&key, UnsafeMutableRawPointer(base + done)) else {
          isWhole = false
          return
        }
        done += 1
      }
    }
    if isWhole { place.initializeMemory(as: Self.self, to: array) }
    return isWhole
  }
}

extension Dictionary: MemberwiseCollection where Key == String {
  static var elementType: Any.Type { Value.self }
  static var isMap: Bool { true }

  static func write(
    _ collection: UnsafeRawPointer, count: (Int) -> Void,
    each: (String?, UnsafeRawPointer) -> Bool
  ) -> Bool {
    let entries = collection.assumingMemoryBound(to: Self.self).pointee
      .sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    count(entries.count)
    for entry in entries {
      let isWritten = withUnsafePointer(to: entry.value) { each(entry.key, UnsafeRawPointer($0)) }
      guard isWritten else { return false }
    }
    return true
  }

  static func read(
    into place: UnsafeMutableRawPointer, count: Int,
    next: (inout String, UnsafeMutableRawPointer) -> Bool
  ) -> Bool {
    var dictionary = Self(minimumCapacity: count)
    let isWhole = withUnsafeTemporaryAllocation(of: Value.self, capacity: 1) { memory in
      guard let value = memory.baseAddress else { return false }
      for _ in 0..<count {
        var key = ""
        guard next(&key, UnsafeMutableRawPointer(value)) else { return false }
        dictionary[key] = value.move()
      }
      // Codable decides about a key that is there twice.
      return dictionary.count == count
    }
    if isWhole { place.initializeMemory(as: Self.self, to: dictionary) }
    return isWhole
  }
}

/// Writes and reads the elements of a list for one program. Like it, it learns the shapes of nested
/// records while it is used.
final class ElementProgram {
  let list: MemberwiseList
  /// For elements that are lists.
  private let inner: ElementProgram?
  /// For elements that are records: the program for writing, and those for each shape.
  @exclusivity(unchecked) private var writer: MemberwiseProgram?
  @exclusivity(unchecked) private var reader: MemberwiseProgram?
  @exclusivity(unchecked) private var readers: [UInt16: MemberwiseProgram] = [:]
  private let terms: MemberwiseProgram.Terms

  init(_ list: MemberwiseList, terms: MemberwiseProgram.Terms) {
    self.list = list
    self.terms = terms
    if case .list(let inner) = list.element {
      self.inner = ElementProgram(inner, terms: terms)
    } else {
      inner = nil
    }
  }

  // MARK: Writing

  /// Appends the list or map at `source` in slot form; false if Codable must write it.
  func write(_ source: UnsafeRawPointer, to output: inout RecordOutput) -> Bool {
    withUnsafeMutablePointer(to: &output) { output in
      list.memory.write(source) { count in
        if count == 0 { return output.pointee.appendEmptyList() }
        output.pointee.append(list.kind.rawValue)
        output.pointee.append(varint: count)
      } each: { key, element in
        if let key {
          output.pointee.append(varint: key.utf8.count)
          output.pointee.append(key)
        }
        return writeElement(element, to: &output.pointee)
      }
    }
  }

  private func writeElement(_ source: UnsafeRawPointer, to output: inout RecordOutput) -> Bool {
    switch list.element {
    case .plain(let kind):
      output.append(UnsafeRawBufferPointer(start: source, count: kind.width))
    case .bool: output.append(source.load(as: UInt8.self))
    case .decimal:
      output.append(fixed: Leaf.decimal(source.assumingMemoryBound(to: Decimal.self).pointee))
    case .string:
      let text = source.assumingMemoryBound(to: String.self)
      output.append(varint: text.pointee.utf8.count)
      output.append(text.pointee)
    case .enumeration(let table):
      guard let bytes = table.bytes(ofCase: source.load(as: UInt8.self)) else { return false }
      if table.kind.hasShortLength { output.append(varint: bytes.count) }
      output.append(bytes)
    case .leaf(let leaf):
      let start = output.count
      func write<Leaf: MemberwiseLeaf>(_: Leaf.Type) -> Bool {
        source.assumingMemoryBound(to: Leaf.self).pointee.write(to: &output)
      }
      guard _openExistential(leaf, do: write) else { return false }
      output.insertLength(leaf.leafKind, at: start)
    case .record, .list:
      let start = output.count
      output.append(fixed: UInt32(0))
      let isWritten =
        writer?.encode(source, to: &output) ?? inner?.write(source, to: &output) ?? false
      guard isWritten else { return false }
      output.setLength(at: start)
    case .coded: return false
    }
    return true
  }

  // MARK: Reading

  /// Initializes the list or map at `place` from its slot form; false if Codable must read it.
  func read(_ bytes: UnsafeRawBufferPointer, into place: UnsafeMutableRawPointer) -> Bool {
    var reader = ByteReader(bytes)
    guard let (kind, count) = try? reader.listHeader(isMap: list.isMap),
      kind == list.kind || kind == nil && count == 0
    else { return false }
    let isRead = withUnsafeMutablePointer(to: &reader) { reader in
      list.memory.read(into: place, count: count) { key, element in
        if list.isMap {
          guard let bytes = try? reader.pointee.bytes(.string), let text = SmallString.text(bytes)
          else { return false }
          key = text
        }
        guard let bytes = try? reader.pointee.bytes(list.kind) else { return false }
        return readElement(bytes, into: element)
      }
    }
    guard isRead, !reader.isAtEnd else { return isRead }
    list.memory.destroy(place)
    return false
  }

  private func readElement(
    _ bytes: UnsafeRawBufferPointer, into place: UnsafeMutableRawPointer
  ) -> Bool {
    switch list.element {
    case .plain(let kind):
      guard let base = bytes.baseAddress else { return false }
      place.copyMemory(from: base, byteCount: kind.width)
    case .bool:
      guard bytes[0] <= 1 else { return false }
      place.storeBytes(of: bytes[0], as: UInt8.self)
    case .decimal:
      guard let value = try? Leaf.decimal(bytes) else { return false }
      place.initializeMemory(as: Decimal.self, to: value)
    case .string:
      guard let text = SmallString.text(bytes) else { return false }
      place.initializeMemory(as: String.self, to: text)
    case .enumeration(let table):
      guard let byte = table.find(bytes) else { return false }
      place.storeBytes(of: byte, as: UInt8.self)
    case .leaf(let leaf):
      func read<Leaf: MemberwiseLeaf>(_ type: Leaf.Type) -> Bool {
        guard let value = type.read(bytes) else { return false }
        place.initializeMemory(as: Leaf.self, to: value)
        return true
      }
      return _openExistential(leaf, do: read)
    case .record:
      guard bytes.count >= 2 else { return false }
      let header = bytes.loadUnaligned(as: UInt16.self)
      if let reader, reader.header == header { return reader.decode(bytes, into: place) }
      guard let other = readers[header] else { return false }
      reader = other
      return other.decode(bytes, into: place)
    case .list: return inner?.read(bytes, into: place) ?? false
    case .coded: return false
    }
    return true
  }

  // MARK: Learning

  /// Finds the programs of nested records from a list or map that Codable wrote; the last one has
  /// the newest shape, which is for writing if the record was just written. False if one has a shape that does not fit its type.
  func learn(
    from bytes: UnsafeRawBufferPointer, shapes: ShapeTable, isWritten: Bool
  ) -> Bool {
    guard list.kind == .record || inner != nil else { return true }
    var reader = ByteReader(bytes)
    guard let (kind, count) = try? reader.listHeader(isMap: list.isMap) else { return false }
    guard count > 0 else { return true }
    guard kind == list.kind else { return false }
    for _ in 0..<count {
      if list.isMap, (try? reader.bytes(.string)) == nil { return false }
      guard let element = try? reader.bytes(list.kind) else { return false }
      if let inner {
        guard inner.learn(from: element, shapes: shapes, isWritten: isWritten) else { return false }
      } else {
        guard learn(record: element, shapes: shapes, isWritten: isWritten) else { return false }
      }
    }
    return true
  }

  private func learn(
    record: UnsafeRawBufferPointer, shapes: ShapeTable, isWritten: Bool
  ) -> Bool {
    guard let plan = list.element.plan, record.count >= 2 else { return false }
    let id = record.loadUnaligned(as: UInt16.self)
    let known = readers[id]
    let program: MemberwiseProgram
    if let known, (try? shapes.shape(id)) === known.shape {
      program = known
    } else {
      guard id & ~RecordFormat.shapeMask == 0, id != 0, let shape = try? shapes.shape(id),
        let made = MemberwiseProgram(plan: plan, shape: shape, terms: terms)
      else { return false }
      program = made
      readers[id] = made
    }
    guard program.learn(from: record, shapes: shapes, isWritten: isWritten) else { return false }
    if isWritten, program.canEncode { writer = program }
    reader = program
    return true
  }

  /// Makes the programs for values of all properties.
  func complete(shapes: ShapeTable) throws -> Bool {
    if let inner { return try inner.complete(shapes: shapes) }
    guard let plan = list.element.plan else { return true }
    guard let program = try MemberwiseProgram.complete(plan, shapes: shapes, terms: terms) else {
      return false
    }
    writer = program
    reader = program
    readers[program.header] = program
    return true
  }
}
