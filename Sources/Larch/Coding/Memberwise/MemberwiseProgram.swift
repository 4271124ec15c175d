/// The plan of a type for one stored shape: a flat list of steps in the order of the slots.
///
/// It returns false for everything that differs from its writer's form. Codable then decides, so
/// that errors and conversions are in one place. It is not thread-safe: it learns shapes of nested
/// records while it is used, so every coder has its own.
final class MemberwiseProgram {
  enum Operation: UInt8 {
    // The slot is the memory.
    case copy1, copy2, copy4, copy8, copy16
    case bool
    /// A string through the standard library, and in its direct form.
    case string, directString
    case fixedEnumeration, enumeration
    case leaf, record, list
    case decimal, optionalDecimal
    /// A value that its own `init(from:)` reads, from a slot or from variable bytes.
    case fixedCoded, coded
    // The same for an optional property.
    case optionalCopy, optionalBool, optionalString, optionalDirectString
    case optionalFixedEnumeration, optionalEnumeration
    case optionalLeaf, optionalRecord, optionalList, optionalFixedCoded, optionalCoded
    /// A variable field that the type does not have any more; reading skips it.
    case skip
  }

  struct Step {
    let operation: Operation
    /// The number of bytes to copy from the slot.
    let width: UInt8
    let bit: UInt8
    let memoryOffset: UInt32
    let slotOffset: UInt32
    /// Index into `details`.
    let detail: UInt16
    /// For enums; kept alive by the plan.
    let table: Unmanaged<EnumTable>?
  }

  /// The data of less frequent steps.
  struct Detail {
    let type: Any.Type
    var leaf: (any MemberwiseLeaf.Type)?
    var optional: (any OptionalMemory.Type)?
    var plan: MemberwisePlan?
    /// The program of a nested record; nil until a record with one was seen.
    var nested: MemberwiseProgram?
    var elements: ElementProgram?
    /// For values that their own `init(from:)` reads.
    var coded: (any Codable.Type)?
    var kind = FieldKind.bool
  }

  /// What all programs of a coder have in common.
  struct Terms {
    /// Whether reading makes missing optional fields nil; false if the coder has defaults or older names.
    var readsMissingAsNil = true
    /// Reads the values that have no memberwise form. It owns the programs; nil for one that only writes.
    unowned(unsafe) var coder: RecordCoder?
    /// Whether it writes values only to compare them, without those that have no memberwise form: they are
    /// read in the same way on both sides, and a `Set` has its elements in another order each time.
    var compares = false
  }

  let plan: MemberwisePlan
  let shape: Shape
  let header: UInt16
  let slotsEnd: Int
  let maskBytes: Int
  /// The bits of the required fields, and of all fields of the shape.
  let requiredMask: UInt64
  let knownMask: UInt64
  /// The bits of the mask bytes, in the eight bytes from the first of them.
  let readMask: UInt64
  /// Room for the slots and one small string per variable field.
  let reserve: Int
  /// Whether every field of the shape is a property, which writing requires. Properties that the
  /// shape does not have must then be nil, as they were for Codable when it chose the shape.
  let canEncode: Bool
  let stepCount: Int
  let steps: UnsafeMutablePointer<Step>
  /// Not read on the common path. Plain memory: an element of an array would be copied, and its references
  /// counted, for each value.
  let details: UnsafeMutableBufferPointer<Detail>
  /// Optional properties that the shape does not have: they are nil.
  let absent: [(offset: Int, optional: any OptionalMemory.Type)]
  let hasAbsent: Bool
  let terms: Terms

  /// Nil if the shape does not fit the present type: Codable converts it.
  init?(plan: MemberwisePlan, shape: Shape, terms: Terms = Terms()) {
    guard plan.reasonForFallback == nil, shape.fields.count <= 64, shape.slotsEnd < 32_768 else {
      return nil
    }
    var steps: [Step] = []
    var details: [Detail] = []
    var required: UInt64 = 0
    var found = 0
    let byName = Dictionary(
      plan.properties.map { ($0.codingName, $0) }, uniquingKeysWith: { first, _ in first })
    for (slot, field) in shape.fields.enumerated() {
      let slotOffset = shape.layouts[slot].offset
      guard let property = byName[field.name] else {
        if !field.kind.isFixed {
          steps.append(
            Step(
              operation: .skip, width: 0, bit: UInt8(slot), memoryOffset: 0,
              slotOffset: slotOffset, detail: 0, table: nil))
        }
        continue
      }
      guard property.form.kind == nil || field.kind == property.form.kind else { return nil }
      found += 1
      if !property.isOptional { required |= 1 << UInt64(slot) }
      let (operation, width, table) = Self.operation(of: property, as: field.kind)
      var detail = Detail(type: property.type)
      detail.optional = property.type as? any OptionalMemory.Type
      if case .leaf(let leaf) = property.form { detail.leaf = leaf }
      if case .record(let plan) = property.form { detail.plan = plan }
      if case .list(let list) = property.form {
        detail.elements = ElementProgram(list, terms: terms)
      }
      if case .coded = property.form {
        detail.coded = Reflection.unwrapped(property.type) as? any Codable.Type
        detail.kind = field.kind
      }
      steps.append(
        Step(
          operation: operation, width: width, bit: UInt8(slot),
          memoryOffset: UInt32(property.offset), slotOffset: slotOffset,
          detail: UInt16(details.count), table: table.map(Unmanaged.passUnretained)))
      details.append(detail)
    }
    var absent: [(offset: Int, optional: any OptionalMemory.Type)] = []
    for property in plan.properties where shape.slot(of: property.codingName) == nil {
      if terms.compares, property.form.kind == nil { continue }
      guard property.isOptional, let optional = property.type as? any OptionalMemory.Type else {
        return nil
      }
      absent.append((property.offset, optional))
    }
    self.absent = absent
    self.terms = terms
    hasAbsent = !absent.isEmpty
    self.plan = plan
    self.shape = shape
    header = shape.id
    slotsEnd = shape.slotsEnd
    maskBytes = shape.maskBytes
    requiredMask = required
    let count = UInt64(shape.fields.count)
    knownMask = count == 64 ? .max : (1 << count) &- 1
    readMask = shape.maskBytes >= 8 ? .max : (1 << UInt64(8 * shape.maskBytes)) &- 1
    let variables = shape.fields.count { !$0.kind.isFixed }
    reserve = shape.slotsEnd + 16 * variables + 16
    canEncode = found == shape.fields.count && (plan.writes || terms.compares)
    stepCount = steps.count
    self.steps = .allocate(capacity: max(1, steps.count))
    self.steps.initialize(from: steps, count: steps.count)
    self.details = .allocate(capacity: details.count)
    _ = self.details.initialize(fromContentsOf: details)
  }

  deinit {
    steps.deallocate()
    details.deinitialize()
    details.deallocate()
  }

  private static func operation(
    of property: MemberwisePlan.Property, as stored: FieldKind
  ) -> (Operation, UInt8, EnumTable?) {
    let isOptional = property.isOptional
    switch property.form {
    case .plain(let kind):
      let width = UInt8(kind.width)
      if isOptional { return (.optionalCopy, width, nil) }
      let operation: Operation =
        switch width {
        case 1: .copy1
        case 2: .copy2
        case 4: .copy4
        case 8: .copy8
        default: .copy16
        }
      return (operation, width, nil)
    case .bool: return (isOptional ? .optionalBool : .bool, 1, nil)
    case .string:
      if SmallString.isTrusted {
        return (isOptional ? .optionalDirectString : .directString, 0, nil)
      }
      return (isOptional ? .optionalString : .string, 0, nil)
    case .enumeration(let table):
      if table.kind.isFixed {
        let operation: Operation = isOptional ? .optionalFixedEnumeration : .fixedEnumeration
        return (operation, UInt8(table.kind.width), table)
      }
      return (isOptional ? .optionalEnumeration : .enumeration, 0, table)
    case .decimal: return (isOptional ? .optionalDecimal : .decimal, 18, nil)
    case .leaf: return (isOptional ? .optionalLeaf : .leaf, 0, nil)
    case .record: return (isOptional ? .optionalRecord : .record, 0, nil)
    case .list: return (isOptional ? .optionalList : .list, 0, nil)
    case .coded where stored.isFixed:
      return (isOptional ? .optionalFixedCoded : .fixedCoded, UInt8(stored.width), nil)
    case .coded: return (isOptional ? .optionalCoded : .coded, 0, nil)
    }
  }

  /// Finds the programs of nested records from a record that Codable wrote. False if a nested
  /// record has a shape that does not fit its type.
  ///
  /// - Parameter isWritten: Whether Codable has just written the record, and not read it.
  func learn(
    from record: UnsafeRawBufferPointer, shapes: ShapeTable, isWritten: Bool
  ) -> Bool {
    guard record.count >= slotsEnd,
      record.loadUnaligned(as: UInt16.self) == header
    else { return false }
    let mask = self.mask(record)
    var start = slotsEnd
    for index in 0..<stepCount {
      let step = steps[index]
      let field = shape.fields[Int(step.bit)]
      guard !field.kind.isFixed else { continue }
      let end = Int(
        record.loadUnaligned(fromByteOffset: Int(step.slotOffset), as: UInt16.self))
      guard end >= start, end <= record.count else { return false }
      defer { start = end }
      guard mask & (1 << UInt64(step.bit)) != 0, step.operation != .skip else { continue }
      let bytes = UnsafeRawBufferPointer(rebasing: record[start..<end])
      if let elements = details[Int(step.detail)].elements {
        guard elements.learn(from: bytes, shapes: shapes, isWritten: isWritten) else {
          return false
        }
      }
      guard let plan = details[Int(step.detail)].plan else { continue }
      guard bytes.count >= 2 else { return false }
      let id = bytes.loadUnaligned(as: UInt16.self)
      if details[Int(step.detail)].nested?.header != id {
        guard id & ~RecordFormat.shapeMask == 0, id != 0, let shape = try? shapes.shape(id),
          let nested = MemberwiseProgram(plan: plan, shape: shape, terms: terms)
        else { return false }
        details[Int(step.detail)].nested = nested
      }
      guard
        details[Int(step.detail)].nested?.learn(
          from: bytes, shapes: shapes, isWritten: isWritten) == true
      else {
        return false
      }
    }
    return true
  }

  @inline(__always)
  func mask(_ record: UnsafeRawBufferPointer) -> UInt64 {
    if slotsEnd >= 10 {
      return record.loadUnaligned(fromByteOffset: 2, as: UInt64.self) & readMask
    }
    var mask: UInt64 = 0
    for index in 0..<maskBytes {
      mask |= UInt64(record[2 &+ index]) &<< UInt64(truncatingIfNeeded: index &* 8)
    }
    return mask
  }
}

extension MemberwisePlan.Form {
  /// The kind that its field has in a shape; nil if its own coding chooses it.
  var kind: FieldKind? {
    switch self {
    case .plain(let kind): kind
    case .bool: .bool
    case .decimal: .decimal
    case .string: .string
    case .enumeration(let table): table.kind
    case .leaf(let leaf): leaf.leafKind
    case .record: .record
    case .list(let list): list.isMap ? .map : .list
    case .coded: nil
    }
  }
}
