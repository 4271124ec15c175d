/// Whether a type's own `Codable` does exactly what memberwise coding does, as far as invented values
/// show it, for each direction; the reason if not.
///
/// Swift does not say whether a conformance is the compiler's. So the type is asked:
/// - `init(from:)` must decode each key once, in the order of its `CodingKeys`, from one container,
///   with the type of the property, `decodeIfPresent` exactly for the optional ones; it must pass on
///   errors, and look neither at the coding path nor at `userInfo` (`TypeProbe`). `encode(to:)` must
///   do the same (`EncodeProbe`).
/// - Records of invented values with extremes in each field are decoded both ways. The results must
///   have the same memory: every stored property is compared, with what memberwise coding writes.
/// - The same values are encoded both ways, and the bytes must be equal.
///
/// This finds code that changes, checks, orders or exchanges values. It cannot find code that acts
/// only on one particular value that is not among the invented ones (`if plan == "pro_v1"`) or only on
/// longer ones, nor code with nothing but a side effect. A sample of real records (`CodingSample`)
/// finds the former later; nothing finds the latter. Hence nobody gets memberwise coding without
/// asking for it.
struct CodingProof: Sendable {
  /// Why records are decoded through Codable; nil if memberwise.
  private(set) var reading: String?
  /// Why records are encoded through Codable; nil if memberwise.
  private(set) var writing: String?

  /// - Parameter plan: the properties of the type, of which the names and types are known to agree
  ///   with the requests of `init(from:)`.
  init(of type: any Codable.Type, _ plan: MemberwisePlan) {
    func run<Value: Codable>(_ type: Value.Type) -> ProofRun<Value>? {
      guard var run = ProofRun<Value>(plan) else { return nil }
      run.checkAll()
      return run
    }
    guard let run = _openExistential(type, do: run) else {
      reading = "no values of it can be made up"
      writing = reading
      return
    }
    reading = run.reading
    writing = run.writing
  }

  /// Both reasons, for a log.
  var summary: String? {
    switch (reading, writing) {
    case (nil, nil): nil
    case (let reading?, nil): "its init(from:) \(reading)"
    case (nil, let writing?): "its encode(to:) \(writing)"
    case (let reading?, let writing?): "its init(from:) \(reading) and its encode(to:) \(writing)"
    }
  }
}

/// The proof of one type while it runs.
private struct ProofRun<Value: Codable> {
  let plan: MemberwisePlan
  let program: MemberwiseProgram
  let coder: RecordCoder
  let fields: [ProofValues]
  var output = RecordOutput()
  var reading: String?
  var writing: String?

  init?(_ plan: MemberwisePlan) {
    let shapes = ShapeTable()
    guard let program = try? MemberwiseProgram.complete(plan, shapes: shapes) else { return nil }
    var fields: [ProofValues] = []
    for (number, property) in plan.properties.enumerated() {
      guard let values = ProofValues(property.form, number, shapes: shapes) else { return nil }
      fields.append(values)
    }
    self.plan = plan
    self.program = program
    self.fields = fields
    coder = RecordCoder(shapes: shapes)
  }

  /// A value of each field by its number among the invented ones, from the base; nil for nil.
  typealias Choice = [Int?]

  mutating func checkAll() {
    defer { output.deallocate() }
    // The base comes first: it has no nil, so that it teaches the coder the whole shape.
    let base: Choice = fields.map { _ in 0 }
    check(base, "an ordinary record")
    if writing == nil { checkAnswers(base) }
    for (number, property) in plan.properties.enumerated() where property.isOptional {
      var choice = base
      choice[number] = nil
      check(choice, "a nil in \(property.codingName)")
    }
    // Each field alone with its first values, so that one extreme does not hide another.
    for (number, property) in plan.properties.enumerated() {
      let field = fields[number]
      let first = 1..<min(field.together, ProofValues.alone(fields.count))
      let long = field.together..<field.slots.count
      for value in Array(first) + Array(long) {
        var choice = base
        choice[number] = value
        check(choice, "a invented value of \(property.codingName)")
        if reading != nil, writing != nil { return }
      }
    }
    checkTogether()
  }

  /// All fields at once, with every value of each and in changing company.
  private mutating func checkTogether() {
    let most = fields.map(\.together).max() ?? 0
    for round in 0..<most + 24 {
      if reading != nil, writing != nil { return }
      let choice: Choice = fields.enumerated().map { number, field in
        let step = round < most ? round : round &* (number &* 2 &+ 3) &+ number
        if plan.properties[number].isOptional, (round &+ number) % 5 == 4 { return nil }
        return step % field.together
      }
      check(choice, "invented values")
    }
  }

  /// Compares what `encode(to:)` asks for with what the compiler's code asks for.
  private mutating func checkAnswers(_ base: Choice) {
    guard let record = record(base) else { return }
    let asked = record.withUnsafeBytes { bytes in
      withValue(bytes) { EncodeProbe($0.pointee) }
    }
    guard let answers = asked.flatMap({ $0 }), answers.isPlain else {
      writing = "does more than encode each key once"
      return
    }
    guard let keyType = answers.keyType, String(describing: keyType) == "CodingKeys",
      answers.answers.map(\.name) == plan.properties.map(\.codingName)
    else {
      writing = "encodes in another order than its CodingKeys"
      return
    }
    for (answer, property) in zip(answers.answers, plan.properties)
    where answer.type != Reflection.unwrapped(property.type)
      || answer.mayBeNil != property.isOptional
    {
      writing = "encodes \(property.codingName) as another type"
    }
  }

  /// Decodes and encodes a record both ways.
  private mutating func check(_ choice: Choice, _ subject: @autoclosure () -> String) {
    guard let record = record(choice) else { return }
    record.withUnsafeBytes { bytes in
      if writing == nil {
        // A record that memberwise coding refuses is Codable's in any case.
        let isSame: Bool? = withValue(bytes) { value in
          guard let own = try? coder.encodeThroughCodable(value.pointee) else { return false }
          return own.elementsEqual(bytes)
        }
        if isSame == false { writing = "does not write \(subject()) unchanged" }
      }
      guard reading == nil, withValue(bytes, { _ in true }) == true else { return }
      guard let own = try? coder.decodeThroughCodable(Value.self, from: bytes) else {
        reading = "refuses \(subject())"
        return
      }
      output.count = 0
      let isSame = withUnsafePointer(to: own) {
        program.encode(UnsafeRawPointer($0), to: &output) && output.bytes.elementsEqual(bytes)
      }
      if !isSame { reading = "does not restore \(subject()) unchanged" }
    }
  }

  /// Runs `body` with the value that memberwise coding reads; nil if it does not.
  private func withValue<Result>(
    _ record: UnsafeRawBufferPointer, _ body: (UnsafeMutablePointer<Value>) -> Result
  ) -> Result? {
    withUnsafeTemporaryAllocation(of: Value.self, capacity: 1) { memory in
      guard let value = memory.baseAddress, program.decode(record, into: value) else { return nil }
      defer { value.deinitialize(count: 1) }
      return body(value)
    }
  }

  /// The record of invented values; nil if it would be a wide one.
  private func record(_ choice: Choice) -> [UInt8]? {
    var output = RecordOutput()
    defer { output.deallocate() }
    ProofValues.write(
      zip(fields, choice).map { field, number in number.map { field.slots[$0] } },
      program.shape, to: &output)
    return output.count <= RecordFormat.narrowLimit ? [UInt8](output.bytes) : nil
  }
}

extension MemberwiseProgram {
  /// A program for a shape with all properties in the order of the keys, as Codable makes it for a
  /// value without nils; nil if a nested type has none.
  static func complete(
    _ plan: MemberwisePlan, shapes: ShapeTable, terms: Terms = Terms()
  ) throws -> MemberwiseProgram? {
    var fields: [ShapeField] = []
    for property in plan.properties {
      if let kind = property.form.kind {
        fields.append(ShapeField(name: property.codingName, kind: kind))
      } else if !terms.compares {
        return nil
      }
    }
    let shape = try shapes.intern(typeName: plan.shapeName, fields: fields)
    guard let program = MemberwiseProgram(plan: plan, shape: shape, terms: terms) else {
      return nil
    }
    for place in program.details.indices {
      if let elements = program.details[place].elements {
        guard try elements.complete(shapes: shapes) else { return nil }
      }
      guard let nested = program.details[place].plan else { continue }
      guard let inner = try complete(nested, shapes: shapes, terms: terms) else { return nil }
      program.details[place].nested = inner
    }
    return program
  }
}
