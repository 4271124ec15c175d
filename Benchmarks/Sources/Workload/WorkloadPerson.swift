/// A record of the workload, as plain values that every engine copies into its own form.
public struct WorkloadPerson: Equatable, Sendable {
  /// One more than the number of records before it.
  public var id: Int64
  /// First and last name.
  public var name: String
  /// Unique, because the id is part of it.
  public var email: String
  /// 0…99, unrelated to the id.
  public var age: Int
  /// 0..<1.
  public var score: Double
  /// True for four of five.
  public var active: Bool
  /// Seconds since 1970, whole milliseconds.
  public var createdAt: Double
  /// One of a thousand, a few of them common.
  public var city: String
  /// 1…companies.
  public var companyID: Int64

  /// A record with the values that a store returned.
  public init(
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

  /// Record `index` of a workload whose base size is `size`.
  public init(index: Int, size: Int) {
    var stream = RandomStream(record: index)
    let first = Vocabulary.firstNames[stream.triangular(64)]
    let last = Vocabulary.lastNames[stream.triangular(128)]
    let domain = Vocabulary.domains[stream.below(8)]
    age = stream.below(100)
    score = Double(stream.next() >> 11) * 0x1p-53
    active = stream.below(10) < 8
    createdAt = Double(1_500_000_000_000 + stream.next() % 200_000_000_000) / 1000
    let draw = stream.next() >> 32
    let cubed = (((draw &* draw) >> 32) &* draw) >> 32
    city = Vocabulary.cities[Int((cubed &* 1000) >> 32)]
    companyID = 1 + Int64(stream.below(WorkloadPerson.companies(size: size)))
    id = Int64(index)
    name = first + " " + last
    email = first.lowercased() + last.lowercased() + String(index) + "@" + domain
  }

  /// How many companies the people of a workload are spread over.
  public static func companies(size: Int) -> Int {
    max(1, size / 50)
  }

  /// The cities, the most common ones first.
  public static var cities: [String] { Vocabulary.cities }

  /// The records of a range of indexes.
  public static func records(_ indexes: ClosedRange<Int>, size: Int) -> [WorkloadPerson] {
    indexes.map { WorkloadPerson(index: $0, size: size) }
  }
}
