/// The sum that a query's records are compared by; their order does not matter.
@inlinable
@inline(__always)
public func personChecksum(
  id: Int64, name: String, email: String, age: Int, score: Double, active: Bool,
  createdAt: Double, city: String, companyID: Int64
) -> UInt64 {
  var sum = UInt64(bitPattern: id) &* 0x9E37_79B9_7F4A_7C15
  sum &+= UInt64(bitPattern: Int64(age)) &* 0xC2B2_AE3D_27D4_EB4F
  sum &+= UInt64(bitPattern: companyID) &* 0x1656_67B1_9E37_79F9
  sum &+= score.bitPattern &* 0xD6E8_FEB8_6659_FD93
  sum &+= createdAt.bitPattern &* 0xFF51_AFD7_ED55_8CCD
  sum &+= active ? 0xA5A5 : 0
  sum &+= UInt64(name.utf8.count) &* 257
  sum &+= UInt64(email.utf8.count) &* 65537
  sum &+= UInt64(city.utf8.count) &* 16_777_259
  return sum
}

/// What a company adds to a checksum. Its people count beside its id, so that it matters whose they
/// are.
@inlinable
@inline(__always)
public func companyChecksum(id: Int64, name: String, people: Int) -> UInt64 {
  let weight = UInt64(bitPattern: id) &* UInt64(people + 1) &* 0x9E37_79B9_7F4A_7C15
  return weight &+ UInt64(name.utf8.count) &* 257
}

/// What a link adds to a checksum. Other links between the same students and courses do not add up
/// to the same.
public func linkChecksum(student: Int64, course: Int64) -> UInt64 {
  let bits =
    UInt64(bitPattern: student) &* 0x9E37_79B9_7F4A_7C15
    ^ UInt64(bitPattern: course) &* 0xC2B2_AE3D_27D4_EB4F
  return (bits ^ bits >> 29) &* 0xBF58_476D_1CE4_E5B9
}

extension WorkloadPerson {
  /// The checksum of this record.
  public var checksum: UInt64 {
    personChecksum(
      id: id, name: name, email: email, age: age, score: score, active: active,
      createdAt: createdAt, city: city, companyID: companyID)
  }
}

/// FNV-1a-64 over whole records in the order of their ids: the content of a store in one number.
public struct Fingerprint {
  /// The hash of everything added so far.
  public private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325
  /// How many records were added.
  public private(set) var count = 0

  /// A fingerprint of nothing yet.
  public init() {}

  /// Adds the next record.
  public mutating func add(_ person: WorkloadPerson) {
    count += 1
    add(UInt64(bitPattern: person.id))
    add(person.name)
    add(person.email)
    add(UInt64(bitPattern: Int64(person.age)))
    add(person.score.bitPattern)
    add(byte: person.active ? 1 : 0)
    add(person.createdAt.bitPattern)
    add(person.city)
    add(UInt64(bitPattern: person.companyID))
  }

  private mutating func add(byte: UInt8) {
    value = (value ^ UInt64(byte)) &* 0x100_0000_01B3
  }

  private mutating func add(_ bits: UInt64) {
    for shift in stride(from: 0, to: 64, by: 8) {
      add(byte: UInt8(truncatingIfNeeded: bits >> UInt64(shift)))
    }
  }

  private mutating func add(_ string: String) {
    for byte in string.utf8 { add(byte: byte) }
    add(byte: 0)
  }
}
