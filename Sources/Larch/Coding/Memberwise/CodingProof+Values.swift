internal import Foundation

/// The invented values of one field, in slot form: an ordinary one, which differs from that of every
/// other field, then extremes, and in the end a long one, if the field may have any length.
struct ProofValues {
  private(set) var slots: [[UInt8]]
  /// The number of values that are combined with those of other fields: without the long one, which
  /// costs time.
  var together: Int { max(1, hasLongValue ? slots.count - 1 : slots.count) }
  private var hasLongValue = false
  /// The characters, bytes or elements of a long value: more than codings usually keep, and few
  /// enough for a record that is not wide.
  static let longest = 5000
  /// The number of values that each field tries alone, while all others are ordinary.
  static func alone(_ fieldCount: Int) -> Int { min(12, 3 + 96 / fieldCount) }

  /// Nil if no values can be made up.
  init?(_ form: MemberwisePlan.Form, _ number: Int, shapes: ShapeTable) {
    switch form {
    case .plain(let kind): slots = Self.plain(kind, number)
    case .bool: slots = [[1], [0]]
    case .string:
      let long = String(repeating: "page ", count: Self.longest / 5)
      slots = (Self.texts(number) + [long]).map { Array($0.utf8) }
      hasLongValue = true
    case .decimal:
      slots = Self.decimals(number).map { decimal in
        withUnsafeBytes(of: Leaf.decimal(decimal)) { Array($0) }
      }
    case .enumeration(let table):
      slots = (0..<table.caseCount).compactMap { number in
        table.bytes(ofCase: UInt8(truncatingIfNeeded: number)).map { Array($0) }
      }
      if !slots.isEmpty { slots.swapAt(0, number % slots.count) }
    case .leaf(let leaf):
      slots = Self.leaves(leaf, number)
      hasLongValue = leaf.leafKind == .list || leaf.leafKind == .data
    case .record(let plan):
      guard let records = try? Self.records(plan, number, shapes) else { return nil }
      slots = records
    case .list(let list):
      guard let elements = ProofValues(list.element, number, shapes: shapes) else { return nil }
      let short = Array(elements.slots.prefix(elements.together))
      slots = Self.lists(of: short, 6, long: 101).map { Self.list($0, list) }
      // With one possible element there are two lists.
      hasLongValue = slots.count > 2
    case .coded: return nil
    }
    if slots.isEmpty { return nil }
  }

  /// Writes a record of values in slot form; nil for no value.
  static func write(_ values: [[UInt8]?], _ shape: Shape, to output: inout RecordOutput) {
    var builder = RecordBuilder(shape, in: &output)
    for (slot, value) in values.enumerated() {
      if let value { value.withUnsafeBytes { output.append($0) } }
      builder.end(slot, isPresent: value != nil, in: &output)
    }
  }

  // MARK: Numbers

  private static func plain(_ kind: FieldKind, _ number: Int) -> [[UInt8]] {
    switch kind {
    case .int8: integers(Int8.self, number)
    case .int16: integers(Int16.self, number)
    case .int32: integers(Int32.self, number)
    case .int64: integers(Int64.self, number)
    case .uint8: integers(UInt8.self, number)
    case .uint16: integers(UInt16.self, number)
    case .uint32: integers(UInt32.self, number)
    case .uint64: integers(UInt64.self, number)
    case .float: floats(number).map { bytes(Float($0)) }
    case .double: floats(number).map { bytes($0) }
    // 1970, 1900, now, and far away.
    case .date: ([-978_307_200, -3_187_296_000, 8e8, 1e12] + floats(number)).map { bytes($0) }
    case .uuid:
      [UInt8(truncatingIfNeeded: number &+ 1), 0, 0xFF].map { first in
        (0..<16).map { first == 0 || first == 0xFF ? first : first &+ UInt8($0) &* 17 }
      }
    default: []
    }
  }

  private static func bytes<V: BitwiseCopyable>(_ value: V) -> [UInt8] {
    withUnsafeBytes(of: value) { Array($0) }
  }

  private static func integers<I: FixedWidthInteger & BitwiseCopyable>(
    _ type: I.Type, _ number: Int
  ) -> [[UInt8]] {
    // The limits first: those are tried alone.
    let ordinary = I(truncatingIfNeeded: 30 &+ number % 64)
    let limits: [I] = [.max, .min, 0, 1, .max - 1, .min + 1]
    let usual = [
      -1, 150, 1000, 5, -1000, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 18, 20, 21, 24, 25,
      31, 32, 50, 60, 63, 64, 65, 90, 99, 100, 101, 120, 121, 127, 128, 149, 151, 180, 199, 200,
      201, 255, 256, 299, 300, 360, 365, 366, 400, 404, 500, 512, 999, 1001, 1023, 1024, 1900, 1970,
      1999, 2000, 2024, 2025, 2038, 2100, 4096, 9999, 10_000, 65_535, 65_536, 99_999, 100_000,
      1_000_000, 1_000_000_000, -2, -3, -10, -100, -128, -32_768, 2_147_483_647, -2_147_483_648,
      1 << 53, 1 << 62,
    ].compactMap { I(exactly: $0) }
    return ([ordinary] + limits + usual).map { bytes($0) }
  }

  private static func floats(_ number: Int) -> [Double] {
    [
      Double(number) + 30.25, -1, 0, .infinity, .nan, 1e300, -1e300, -0.0, 0.5, 150, 1e-300,
      -.infinity, 1, 2, 0.1, 1.0 / 3, 1.005, 90, 90.5, -90.5, 180.5, -180.5, 360.5, 100, 100.5,
      1000,
      .greatestFiniteMagnitude, -.greatestFiniteMagnitude, .leastNonzeroMagnitude, 1e15 + 0.3,
    ]
  }

  private static func decimals(_ number: Int) -> [Decimal] {
    let texts = ["\(number).25", "-1", "0", "1.005", "99999999999999999999999999999999999999"]
    let more = ["1E-100", "1E100", "0.1", "100", "-0.01", "1000000.999999"]
    return (texts + more).compactMap { Decimal(string: $0) } + [.nan]
  }

  // MARK: Texts

  private static func texts(_ number: Int) -> [String] {
    [
      "Text \(number)", "", " padded ", "UPPER", "lower", String(repeating: "long ", count: 60),
      "e\u{301}", "İß", "a  b", "\tline\r\n", "日本😀", "\0", "é", " ", "0", "-1", "1.50", "true",
      "false", "null", "nil", "none", "n/a", "unknown", "admin", "root", "test", "Zz", "a@b.c",
      "@", "a,b,,a", "https://larch.example/", "http://x", "/tmp/../x", "+49 170", "2020-01-01",
      "abc-def_ghi.jkl", "<b>&amp;</b>", "\u{FEFF}bom", "\u{202E}rtl", "x", "xy", "xyz",
      String(repeating: "y", count: 15), String(repeating: "z", count: 16), "\"quoted\"", "%20",
      String(repeating: "長", count: 100), "'; --", "\\n", "EN", "en_US", "#FFFFFF", "#fff",
    ]
  }

  // MARK: Lists and other leaves

  private static func leaves(_ leaf: any MemberwiseLeaf.Type, _ number: Int) -> [[UInt8]] {
    func bytes<L: MemberwiseLeaf>(_ type: L.Type) -> [[UInt8]] {
      type.madeUp(number).compactMap { value in
        var output = RecordOutput()
        defer { output.deallocate() }
        return value.write(to: &output) ? [UInt8](output.bytes) : nil
      }
    }
    return _openExistential(leaf, do: bytes)
  }

  /// Lists of invented elements: ordinary, empty, one, duplicates, in falling order, all, and long.
  static func lists<Element>(
    of elements: [Element], _ limit: Int = 16, long: Int = ProofValues.longest
  ) -> [[Element]] {
    let elements = Array(elements.prefix(limit))
    guard let first = elements.first, elements.count > 1 else { return [elements, []] }
    let second = elements[1]
    return [
      [first, second, elements[elements.count - 1]], [], [second], [first, first],
      [second, first, second], elements, elements.reversed(),
      (0..<long).map { elements[$0 % 4 % elements.count] },
    ]
  }

  /// A list or map of elements in slot form.
  private static func list(_ elements: [[UInt8]], _ list: MemberwiseList) -> [UInt8] {
    var output = RecordOutput()
    defer { output.deallocate() }
    guard !elements.isEmpty else { return [0, 0] }
    output.append(list.kind.rawValue)
    output.append(varint: elements.count)
    // Rising by their bytes: digits, capitals, small letters, others.
    let keys = ["", "0", "Key"] + (3..<max(3, elements.count)).map { "k\($0 + 1000)é" }
    for (key, element) in zip(keys, elements) {
      if list.isMap {
        output.append(varint: key.utf8.count)
        output.append(key)
      }
      let start = output.count
      element.withUnsafeBytes { output.append($0) }
      output.insertLength(list.kind, at: start)
    }
    return [UInt8](output.bytes)
  }

  static func numbers<Number>(_ type: Number.Type, _ number: Int) -> [Number] {
    let kind = StandardType.of(type)?.kind ?? .tagged
    return plain(kind, number).map { bytes in
      bytes.withUnsafeBytes { bytes in
        withUnsafeTemporaryAllocation(of: Number.self, capacity: 1) { memory in
          UnsafeMutableRawBufferPointer(memory).copyMemory(from: bytes)
          return memory[0]
        }
      }
    }
  }

  static func strings(_ number: Int) -> [String] { texts(number) }

  // MARK: Nested records

  /// An ordinary record, and one for each of the first values of its fields. The nested type has
  /// its own proof.
  private static func records(
    _ plan: MemberwisePlan, _ number: Int, _ shapes: ShapeTable
  ) throws -> [[UInt8]]? {
    guard let program = try MemberwiseProgram.complete(plan, shapes: shapes) else { return nil }
    var fields: [ProofValues] = []
    for (place, property) in plan.properties.enumerated() {
      guard let values = ProofValues(property.form, number &* 7 &+ place, shapes: shapes) else {
        return nil
      }
      fields.append(values)
    }
    var records: [[UInt8]] = []
    func add(_ values: [[UInt8]?]) {
      var output = RecordOutput()
      defer { output.deallocate() }
      write(values, program.shape, to: &output)
      if output.count < 4096 { records.append([UInt8](output.bytes)) }
    }
    let base = fields.map { $0.slots[0] as [UInt8]? }
    add(base)
    for (place, field) in fields.enumerated() {
      var values = base
      if plan.properties[place].isOptional {
        values[place] = nil
        add(values)
      }
      for value in field.slots.dropFirst().prefix(3) {
        values[place] = value
        add(values)
      }
    }
    return records
  }
}
