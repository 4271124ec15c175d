/// Codable coding, with which memberwise coding is compared.
protocol MemberwiseReference {
  /// The record that Codable writes now; called only while writing, since it may create shapes.
  func codableBytes<Value: Encodable>(of value: Value) throws -> [UInt8]
  /// Bytes that are equal for equal values, written with separate shapes.
  func comparableBytes<Value: Encodable>(of value: Value) throws -> [UInt8]
  func codableValue<Value: Decodable>(
    _ type: Value.Type, from record: UnsafeRawBufferPointer
  ) throws -> Value
}

/// Memberwise coding of one type for one coder: it knows the shapes that Codable uses now, and is
/// compared with Codable before its first use.
///
/// Both directions return false if they cannot code a value exactly. The caller then uses Codable
/// and passes the result to `learnWriting` or `learnReading`, so that the next value can be coded
/// memberwise.
final class MemberwiseCodec {
  let type: any Codable.Type
  let plan: MemberwisePlan
  private let shapes: ShapeTable
  private let terms: MemberwiseProgram.Terms
  @exclusivity(unchecked) private var generation: Int
  /// The program for writing, and that of the last shape read. Not counted, since counting costs
  /// more than a field; `programs` owns them.
  @exclusivity(unchecked) private var writer: Unmanaged<MemberwiseProgram>?
  @exclusivity(unchecked) private var reader: Unmanaged<MemberwiseProgram>?
  @exclusivity(unchecked) private var programs: [MemberwiseProgram] = []
  @exclusivity(unchecked) private var readers: [UInt16: MemberwiseProgram] = [:]
  @exclusivity(unchecked) private var misfits: Set<UInt16> = []
  /// Limits the lessons from values that teach nothing.
  @exclusivity(unchecked) private var lessonsLeft = 64
  /// Memory for one value of the type, which reading fills.
  let scratch: UnsafeMutableRawPointer
  let memory: TypeLayout.Memory
  /// Whether some records are coded both ways.
  let isSampled: Bool
  let runsCode: Bool
  /// Whether a value that is written memberwise is read back with every bit of its own. A default may take
  /// the place of a nil that was not written.
  let isExact: Bool
  @exclusivity(unchecked) var sample = CodingSample()
  /// Compares two values in memory.
  private(set) lazy var comparing: MemberwiseProgram? = {
    let program = try? MemberwiseProgram.complete(
      plan, shapes: ShapeTable(), terms: .init(compares: true))
    return program.flatMap { $0 }
  }()

  /// Nil if the type did not opt in or cannot be coded memberwise. If there are defaults or older
  /// names of fields, Codable handles fields that the stored shape does not have.
  ///
  /// - Parameter proving: Whether a type may also pass a proof, instead of opting in.
  init?(
    _ type: Any.Type, shapes: ShapeTable, terms: MemberwiseProgram.Terms = .init(),
    proving: Bool = false
  ) {
    guard let type = type as? any Codable.Type, proving || type is any MemberwiseCoded.Type else {
      return nil
    }
    let plan = MemberwisePlan.plan(for: type, proving: proving)
    guard plan.reasonForFallback == nil else { return nil }
    self.type = type
    self.plan = plan
    self.shapes = shapes
    self.terms = terms
    generation = shapes.generation
    memory = TypeLayout.Memory(of: type)
    isSampled = plan.isSampled
    runsCode = plan.runsCode
    isExact = plan.isExact && terms.readsMissingAsNil
    scratch = .allocate(byteCount: max(memory.size, 1), alignment: memory.alignment)
  }

  deinit { scratch.deallocate() }

  // MARK: Writing

  /// The id of the shape for writing; 0 if it cannot write yet.
  var writtenShape: UInt16 { writer?.takeUnretainedValue().header ?? 0 }

  /// The program for writing, if it still fits the shapes.
  var writingProgram: MemberwiseProgram? {
    generation == shapes.generation ? writer?.takeUnretainedValue() : nil
  }

  /// Appends the record of the value at `value`.
  @inline(__always)
  func encode(_ value: UnsafeRawPointer, to output: inout RecordOutput) -> Bool {
    guard generation == shapes.generation, let writer else { return false }
    return writer._withUnsafeGuaranteedRef { $0.encode(value, to: &output) }
  }

  /// Learns from a value that Codable has just written as `record`.
  func learnWriting(
    _ value: UnsafeRawPointer, _ record: UnsafeRawBufferPointer,
    _ reference: any MemberwiseReference
  ) {
    guard plan.writes, prepareLesson(), let program = program(for: record, isWritten: true),
      program.canEncode
    else { return }
    if plan.needsProof(.writing) {
      func prove<Value: Codable>(_ type: Value.Type) -> Bool? {
        provesWriting(program, value.assumingMemoryBound(to: type), record, reference)
      }
      guard let isProved = _openExistential(type, do: prove) else { return }
      plan.conclude(isProved, .writing)
      guard isProved else { return dropPrograms() }
    }
    keep(program)
    writer = Unmanaged.passUnretained(program)
  }

  /// True if both directions agree with Codable; nil if Codable itself fails.
  private func provesWriting<Value: Codable>(
    _ program: MemberwiseProgram, _ value: UnsafePointer<Value>, _ record: UnsafeRawBufferPointer,
    _ reference: any MemberwiseReference
  ) -> Bool? {
    var output = RecordOutput()
    defer { output.deallocate() }
    // A value that needs Codable, such as one of more than 64 KiB, proves nothing.
    guard program.encode(UnsafeRawPointer(value), to: &output) else { return nil }
    if !output.bytes.elementsEqual(record) {
      // The elements of its lists may have taught Codable more shapes while it wrote them.
      guard let again = try? reference.codableBytes(of: value.pointee) else { return nil }
      guard output.bytes.elementsEqual(again) else { return false }
    }
    // A value that Codable writes but cannot read back proves nothing either.
    guard let known = try? reference.codableValue(Value.self, from: record) else { return nil }
    return withUnsafePointer(to: known) { provesReading(program, $0, record, reference) }
  }

  // MARK: Reading

  /// Initializes the memory at `target` from a record.
  @inline(__always)
  func decode(_ record: UnsafeRawBufferPointer, into target: UnsafeMutableRawPointer) -> Bool {
    guard generation == shapes.generation, let reader, record.count >= 2 else { return false }
    if runsCode { return decodeRunningCode(record, into: target) }
    let header = record.loadUnaligned(as: UInt16.self)
    return reader._withUnsafeGuaranteedRef {
      $0.header == header ? $0.decode(record, into: target) : decodeOther(record, into: target)
    }
  }

  /// Keeps the program while code of the types in it runs, which may read other records of this type.
  @inline(never)
  private func decodeRunningCode(
    _ record: UnsafeRawBufferPointer, into target: UnsafeMutableRawPointer
  ) -> Bool {
    let program = readers[record.loadUnaligned(as: UInt16.self)]
    return withExtendedLifetime((self, program)) { program?.decode(record, into: target) ?? false }
  }

  @inline(never)
  private func decodeOther(
    _ record: UnsafeRawBufferPointer, into target: UnsafeMutableRawPointer
  ) -> Bool {
    guard let other = readers[record.loadUnaligned(as: UInt16.self)] else { return false }
    reader = Unmanaged.passUnretained(other)
    return other.decode(record, into: target)
  }

  /// Learns from a record that Codable has just read as the value at `value`.
  func learnReading(
    _ value: UnsafeRawPointer, _ record: UnsafeRawBufferPointer,
    _ reference: any MemberwiseReference
  ) {
    guard plan.reads, prepareLesson(), let program = program(for: record, isWritten: false) else {
      return
    }
    if plan.needsProof(.reading) {
      func prove<Value: Codable>(_ type: Value.Type) -> Bool? {
        provesReading(program, value.assumingMemoryBound(to: type), record, reference)
      }
      guard let isProved = _openExistential(type, do: prove) else { return }
      plan.conclude(isProved, .reading)
      guard isProved else { return dropPrograms() }
    }
    keep(program)
  }

  private func provesReading<Value: Codable>(
    _ program: MemberwiseProgram, _ value: UnsafePointer<Value>, _ record: UnsafeRawBufferPointer,
    _ reference: any MemberwiseReference
  ) -> Bool? {
    guard let read = decoded(Value.self, record, program) else { return nil }
    return agrees(read, value.pointee, program, record, reference)
  }

  /// Whether both read the same value; nil if that proves nothing, since the record was not written
  /// in this way.
  private func agrees<Value: Codable>(
    _ ours: Value, _ theirs: Value, _ program: MemberwiseProgram,
    _ record: UnsafeRawBufferPointer, _ reference: any MemberwiseReference
  ) -> Bool? {
    if runsCode {
      guard let isSame = isSame(ours, theirs) else { return nil }
      // Whether the type or the record is to blame is unknown, since such records are not written here.
      if !isSame { plan.refute() }
      return isSame ? true : nil
    }
    guard let ourBytes = try? reference.comparableBytes(of: ours),
      let theirBytes = try? reference.comparableBytes(of: theirs)
    else { return nil }
    if ourBytes == theirBytes { return true }
    var output = RecordOutput()
    defer { output.deallocate() }
    let isWellFormed = withUnsafePointer(to: ours) {
      program.encode(UnsafeRawPointer($0), to: &output) && output.bytes.elementsEqual(record)
    }
    return isWellFormed ? false : nil
  }

  /// Whether the next record is coded both ways. After a difference, here or in another coder, it
  /// forgets how to code memberwise.
  @inline(never)
  func isDue() -> Bool {
    if plan.isRefuted {
      dropPrograms()
      return false
    }
    return sample.isDue()
  }

  // MARK: Lessons

  /// Whether records that Codable reads may still teach something, and those that it writes.
  var wantsLessons: Bool { lessonsLeft > 0 && plan.reads }
  var wantsWritingLessons: Bool { lessonsLeft > 0 && plan.writes }

  private func prepareLesson() -> Bool {
    guard plan.reasonForFallback == nil, lessonsLeft > 0 else { return false }
    lessonsLeft -= 1
    if generation != shapes.generation {
      generation = shapes.generation
      dropPrograms()
    }
    return true
  }

  private func keep(_ program: MemberwiseProgram) {
    if readers[program.header] !== program {
      programs.append(program)
      readers[program.header] = program
    }
    if plan.reads { reader = Unmanaged.passUnretained(program) }
  }

  private func dropPrograms() {
    writer = nil
    reader = nil
    readers = [:]
    misfits = []
    programs = []
  }

  /// The program for the shape of a record; created if there is none, and taught by the record.
  private func program(
    for record: UnsafeRawBufferPointer, isWritten: Bool
  ) -> MemberwiseProgram? {
    guard record.count >= 2 else { return nil }
    let id = record.loadUnaligned(as: UInt16.self)
    // Codable handles wide records and tagged values.
    guard id != 0, id & ~RecordFormat.shapeMask == 0, !misfits.contains(id),
      let shape = try? shapes.shape(id)
    else { return nil }
    if let known = readers[id], known.shape === shape {
      return known.learn(from: record, shapes: shapes, isWritten: isWritten) ? known : nil
    }
    guard
      let made = MemberwiseProgram(plan: plan, shape: shape, terms: terms)
    else {
      misfits.insert(id)
      return nil
    }
    return made.learn(from: record, shapes: shapes, isWritten: isWritten) ? made : nil
  }

  private func decoded<Value>(
    _ type: Value.Type, _ record: UnsafeRawBufferPointer, _ program: MemberwiseProgram
  ) -> Value? {
    withUnsafeTemporaryAllocation(of: Value.self, capacity: 1) { memory in
      guard let target = memory.baseAddress, program.decode(record, into: target) else {
        return nil
      }
      return target.move()
    }
  }
}

extension MemberwiseCodec {
  /// In debug builds some records that were read memberwise (`CodingSample`) are also read by Codable,
  /// whose result and errors are used.
  func checkReading<Value: Decodable>(
    _ value: Value, _ record: UnsafeRawBufferPointer, _ reference: any MemberwiseReference
  ) throws -> Value {
    let theirs = try reference.codableValue(Value.self, from: record)
    func check<Coded: Codable>(_: Coded.Type) -> Bool? {
      guard let reader = reader?.takeUnretainedValue(), let ours = value as? Coded,
        let theirs = theirs as? Coded
      else { return nil }
      return agrees(ours, theirs, reader, record, reference)
    }
    if _openExistential(type, do: check) == false {
      plan.conclude(false, .reading)
      dropPrograms()
    }
    if plan.isRefuted { dropPrograms() }
    return theirs
  }
}
