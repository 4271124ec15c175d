/// A field of a shape: its coding key and the kind of its values.
package struct ShapeField: Hashable, Sendable {
  package let name: String
  package let kind: FieldKind

  package init(name: String, kind: FieldKind) {
    self.name = name
    self.kind = kind
  }
}

/// The place of a field in a record of its shape. It is plain data, so that reading it counts no
/// references.
package struct FieldLayout {
  /// The raw value of the kind.
  let kind: UInt8
  /// Bytes of a fixed kind, 0 for a variable one.
  let width: UInt8
  /// Offset of the slot from the start of a narrow record and of a wide one.
  package let offset: UInt32
  package let wideOffset: UInt32
  /// The index of the previous variable field; -1 if there is none.
  let previousVariable: Int32
}

/// The names and kinds of the fields of a record. The catalog stores it under a shape id.
///
/// ```text
/// encoded   type name (u16 length, UTF-8), field count u16,
///           per field: kind u8, name (u16 length, UTF-8)
/// ```
package final class Shape: Sendable {
  /// 1...16383; a record of shape 0 is a tagged value and has no shape.
  package let id: UInt16
  /// The name of the Swift type that first wrote this shape: for people, and for finding the shapes
  /// of a type in the next process. Decoding never depends on it.
  package let typeName: String
  package let fields: [ShapeField]

  // Written only in init, freed in deinit.
  package nonisolated(unsafe) let layouts: UnsafeMutablePointer<FieldLayout>
  package let maskBytes: Int
  /// The end of the slots, where the heap starts, in a narrow and in a wide record.
  package let slotsEnd: Int
  package let wideSlotsEnd: Int
  /// The index of the last variable field; -1 if there is none.
  let lastVariable: Int
  private let slotByName: [String: Int]

  package init(id: UInt16, typeName: String, fields: [ShapeField]) {
    self.id = id
    self.typeName = typeName
    self.fields = fields
    maskBytes = RecordFormat.maskBytes(fields.count)
    layouts = .allocate(capacity: max(fields.count, 1))
    var offset = 2 + maskBytes
    var wideOffset = offset
    var previous = -1
    var byName = [String: Int](minimumCapacity: fields.count)
    for (index, field) in fields.enumerated() {
      (layouts + index).initialize(
        to: FieldLayout(
          kind: field.kind.rawValue, width: UInt8(field.kind.width), offset: UInt32(offset),
          wideOffset: UInt32(wideOffset), previousVariable: Int32(previous)))
      if field.kind.isFixed {
        offset += field.kind.width
        wideOffset += field.kind.width
      } else {
        offset += 2
        wideOffset += 4
        previous = index
      }
      byName[field.name] = index
    }
    slotsEnd = offset
    wideSlotsEnd = wideOffset
    lastVariable = previous
    slotByName = byName
  }

  deinit { layouts.deallocate() }

  /// The index of the field with this name.
  package func slot(of name: String) -> Int? { slotByName[name] }

  /// The bytes that the catalog stores; the id is the catalog's key.
  func encoded() -> [UInt8] {
    var bytes: [UInt8] = []
    func add(_ number: Int) {
      bytes.append(UInt8(truncatingIfNeeded: number))
      bytes.append(UInt8(truncatingIfNeeded: number >> 8))
    }
    func add(_ text: String) {
      add(text.utf8.count)
      bytes.append(contentsOf: text.utf8)
    }
    add(typeName)
    add(fields.count)
    for field in fields {
      bytes.append(field.kind.rawValue)
      add(field.name)
    }
    return bytes
  }

  /// Reads what `encoded()` wrote. Arbitrary bytes give a shape or a thrown error.
  convenience init(id: UInt16, decoding bytes: UnsafeRawBufferPointer) throws {
    var offset = 0
    func damaged() -> LarchError {
      LarchError(.corrupted, "A stored shape is damaged; verify the store and salvage it.") {
        $0.detail = "shape \(id)"
      }
    }
    func number() throws -> Int {
      guard bytes.count - offset >= 2 else { throw damaged() }
      defer { offset += 2 }
      return Int(bytes[offset]) | Int(bytes[offset + 1]) << 8
    }
    func text() throws -> String {
      let count = try number()
      guard bytes.count - offset >= count else { throw damaged() }
      let slice = UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
      guard let text = String(validating: slice, as: UTF8.self) else { throw damaged() }
      offset += count
      return text
    }
    guard id >= 1, id <= RecordFormat.shapeMask else { throw damaged() }
    let typeName = try text()
    let count = try number()
    guard count <= RecordFormat.fieldLimit else { throw damaged() }
    var fields: [ShapeField] = []
    var names: Set<String> = []
    for _ in 0..<count {
      guard offset < bytes.count, let kind = FieldKind(rawValue: bytes[offset]) else {
        throw damaged()
      }
      offset += 1
      let name = try text()
      guard names.insert(name).inserted else { throw damaged() }
      fields.append(ShapeField(name: name, kind: kind))
    }
    guard offset == bytes.count else { throw damaged() }
    self.init(id: id, typeName: typeName, fields: fields)
  }
}

extension Shape: CustomStringConvertible {
  /// The type name and the fields, such as `Person(id: int64, name: string)`.
  package var description: String {
    let list = fields.map { "\($0.name): \($0.kind.name)" }.joined(separator: ", ")
    return "\(typeName)(\(list))"
  }
}
