import Workload

/// The fields of `Person` for coding alone.
struct CodedPerson: Codable, Equatable {
  static let fieldCount = 9

  var id: Int64
  var name: String
  var email: String
  var age: Int
  var score: Double
  var active: Bool
  var createdAt: Double
  var city: String
  var companyID: Int64

  init(_ record: WorkloadPerson) {
    self.init(
      id: record.id, name: record.name, email: record.email, age: record.age,
      score: record.score, active: record.active, createdAt: record.createdAt,
      city: record.city, companyID: record.companyID)
  }

  init(
    id: Int64, name: String, email: String, age: Int, score: Double, active: Bool,
    createdAt: Double, city: String, companyID: Int64
  ) {
    self.id = id
    self.name = name
    self.email = email
    self.age = age
    self.score = score
    self.active = active
    self.createdAt = createdAt
    self.city = city
    self.companyID = companyID
  }
}

/// The code that a patient programmer, or a macro, would write for one type: Larch's record format
/// with every offset a constant. It is what coding alone is compared with.
struct HandCoder {
  /// Header, presence mask of nine fields, then the slots.
  private enum Slot {
    static let mask = 2
    static let id = 4
    static let name = 12
    static let email = 14
    static let age = 16
    static let score = 24
    static let active = 32
    static let createdAt = 33
    static let city = 41
    static let companyID = 43
    static let end = 51
  }

  private static let header: UInt16 = 1
  private static let allPresent: UInt16 = (1 << 9) - 1

  private var buffer: UnsafeMutableRawPointer
  private var capacity: Int

  init() {
    capacity = 4096
    buffer = .allocate(byteCount: capacity, alignment: 16)
  }

  func deallocate() {
    buffer.deallocate()
  }

  /// The bytes live until the next encode.
  @inline(never)
  mutating func encode(_ person: borrowing CodedPerson) -> UnsafeRawBufferPointer {
    buffer.storeBytes(of: HandCoder.header, as: UInt16.self)
    buffer.storeBytes(of: HandCoder.allPresent, toByteOffset: Slot.mask, as: UInt16.self)
    buffer.storeBytes(of: person.id, toByteOffset: Slot.id, as: Int64.self)
    buffer.storeBytes(of: person.age, toByteOffset: Slot.age, as: Int.self)
    buffer.storeBytes(of: person.score, toByteOffset: Slot.score, as: Double.self)
    buffer.storeBytes(of: person.active ? 1 : 0, toByteOffset: Slot.active, as: UInt8.self)
    buffer.storeBytes(of: person.createdAt, toByteOffset: Slot.createdAt, as: Double.self)
    buffer.storeBytes(of: person.companyID, toByteOffset: Slot.companyID, as: Int64.self)
    var end = Slot.end
    append(person.name, Slot.name, &end)
    append(person.email, Slot.email, &end)
    append(person.city, Slot.city, &end)
    return UnsafeRawBufferPointer(start: buffer, count: end)
  }

  @inline(__always)
  private mutating func append(_ string: String, _ slot: Int, _ end: inout Int) {
    let start = end
    let count = string.utf8.withContiguousStorageIfAvailable { utf8 -> Int in
      if start + utf8.count > capacity { grow(to: start + utf8.count, keeping: start) }
      if let base = utf8.baseAddress {
        (buffer + start).copyMemory(from: base, byteCount: utf8.count)
      }
      return utf8.count
    }
    end += count ?? copySlowly(string, at: start)
    buffer.storeBytes(of: UInt16(truncatingIfNeeded: end), toByteOffset: slot, as: UInt16.self)
  }

  @inline(never)
  private mutating func copySlowly(_ string: String, at start: Int) -> Int {
    let count = string.utf8.count
    if start + count > capacity { grow(to: start + count, keeping: start) }
    for (index, byte) in string.utf8.enumerated() {
      buffer.storeBytes(of: byte, toByteOffset: start + index, as: UInt8.self)
    }
    return count
  }

  @inline(never)
  private mutating func grow(to needed: Int, keeping count: Int) {
    let larger = UnsafeMutableRawPointer.allocate(byteCount: needed * 2, alignment: 16)
    larger.copyMemory(from: buffer, byteCount: count)
    buffer.deallocate()
    buffer = larger
    capacity = needed * 2
  }

  /// Nil for bytes that are not a whole record of this type.
  @inline(never)
  func decode(_ bytes: UnsafeRawBufferPointer) -> CodedPerson? {
    guard let base = bytes.baseAddress, bytes.count >= Slot.end,
      base.loadUnaligned(as: UInt16.self) == HandCoder.header,
      base.loadUnaligned(fromByteOffset: Slot.mask, as: UInt16.self) == HandCoder.allPresent
    else { return nil }
    let nameEnd = Int(base.loadUnaligned(fromByteOffset: Slot.name, as: UInt16.self))
    let emailEnd = Int(base.loadUnaligned(fromByteOffset: Slot.email, as: UInt16.self))
    let cityEnd = Int(base.loadUnaligned(fromByteOffset: Slot.city, as: UInt16.self))
    guard Slot.end <= nameEnd, nameEnd <= emailEnd, emailEnd <= cityEnd, cityEnd <= bytes.count
    else { return nil }
    return CodedPerson(
      id: base.loadUnaligned(fromByteOffset: Slot.id, as: Int64.self),
      name: SmallString.make(base + Slot.end, nameEnd - Slot.end),
      email: SmallString.make(base + nameEnd, emailEnd - nameEnd),
      age: base.loadUnaligned(fromByteOffset: Slot.age, as: Int.self),
      score: base.loadUnaligned(fromByteOffset: Slot.score, as: Double.self),
      active: base.loadUnaligned(fromByteOffset: Slot.active, as: UInt8.self) != 0,
      createdAt: base.loadUnaligned(fromByteOffset: Slot.createdAt, as: Double.self),
      city: SmallString.make(base + emailEnd, cityEnd - emailEnd),
      companyID: base.loadUnaligned(fromByteOffset: Slot.companyID, as: Int64.self))
  }
}

/// Strings of at most 15 ASCII bytes in the form that Swift keeps inline, built without a call.
///
/// Swift does not promise this form, so it is used only where a first test shows that it holds; the
/// hand-written side should be as fast as it can get, or the comparison would flatter Larch.
enum SmallString {
  private static let isUsable: Bool = {
    guard MemoryLayout<String>.size == 16, UInt16(littleEndian: 1) == 1 else { return false }
    return ["", "a", "abcdefg", "abcdefgh", "abcdefghi", "abcdefghijklmno"].allSatisfy { text in
      var text = text
      let expected = unsafeBitCast(text, to: (UInt64, UInt64).self)
      return text.withUTF8 { pack(UnsafeRawBufferPointer($0)).map { $0 == expected } ?? false }
    }
  }()

  @inline(__always)
  static func make(_ start: UnsafeRawPointer, _ count: Int) -> String {
    if count <= 15, isUsable, let words = pack(UnsafeRawBufferPointer(start: start, count: count)) {
      return unsafeBitCast(words, to: String.self)
    }
    return String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
  }

  /// Nil when a byte is not ASCII.
  @inline(__always)
  private static func pack(_ bytes: UnsafeRawBufferPointer) -> (UInt64, UInt64)? {
    guard let start = bytes.baseAddress, bytes.count > 0 else { return (0, 0xE000 << 48) }
    let count = bytes.count
    let low: UInt64
    var high: UInt64 = 0
    if count >= 8 {
      low = start.loadUnaligned(as: UInt64.self)
      if count > 8 {
        // The last eight bytes overlap the first; the shift drops what both hold.
        let tail = start.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
        high = tail >> UInt64(8 * (16 - count))
      }
    } else {
      low = short(start, count)
    }
    guard (low | high) & 0x8080_8080_8080_8080 == 0 else { return nil }
    return (low, high | (0xE0 | UInt64(count)) << 56)
  }

  @inline(__always)
  private static func short(_ start: UnsafeRawPointer, _ count: Int) -> UInt64 {
    if count >= 4 {
      let first = UInt64(start.loadUnaligned(as: UInt32.self))
      let last = UInt64(start.loadUnaligned(fromByteOffset: count - 4, as: UInt32.self))
      return first | last << UInt64(8 * (count - 4))
    }
    let first = UInt64(start.load(as: UInt8.self))
    let middle = UInt64(start.load(fromByteOffset: count / 2, as: UInt8.self))
    let last = UInt64(start.load(fromByteOffset: count - 1, as: UInt8.self))
    return first | middle << UInt64(8 * (count / 2)) | last << UInt64(8 * (count - 1))
  }
}
