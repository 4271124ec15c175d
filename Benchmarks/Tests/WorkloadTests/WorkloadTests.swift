import Testing

@testable import Workload

@Suite("The workload is the one that its specification describes")
struct WorkloadTests {
  static let size = 100_000
  static let records = WorkloadPerson.records(1...size, size: size)

  @Test("splitmix64 gives its published numbers")
  func splitmixVector() {
    // The reference generator's first outputs for the state 1234567.
    var stream = RandomStream(state: 1_234_567)
    #expect(stream.next() == 6_457_827_717_110_365_317)
    #expect(stream.next() == 3_203_168_211_198_807_973)
    #expect(stream.next() == 9_817_491_932_198_370_423)
  }

  @Test("the vocabulary has its stated sizes and no word twice")
  func vocabulary() {
    #expect(Set(Vocabulary.firstNames).count == 64)
    #expect(Set(Vocabulary.lastNames).count == 128)
    #expect(Set(Vocabulary.domains).count == 8)
    #expect(Set(Vocabulary.cities).count == 1000)
    #expect(Vocabulary.cities[0] == "Ashburton")
    #expect(Vocabulary.cities[999] == "Lakewickby")
  }

  @Test("mean string sizes at 100,000 records are the stated ones")
  func meanSizes() {
    func mean(_ string: KeyPath<WorkloadPerson, String>) -> Double {
      let total = Self.records.reduce(0) { $0 + $1[keyPath: string].utf8.count }
      return (Double(total) / Double(Self.size) * 10).rounded() / 10
    }
    #expect(mean(\.name) == 11.3)
    #expect(mean(\.email) == 23.7)
    #expect(mean(\.city) == 10.1)
  }

  @Test("every e-mail is unique, and ids are the indexes")
  func uniqueEmails() {
    #expect(Set(Self.records.map(\.email)).count == Self.size)
    #expect(Self.records.enumerated().allSatisfy { $0.element.id == Int64($0.offset + 1) })
  }

  @Test("a tenth of all people live in the first city, and fields stay in their ranges")
  func distribution() {
    let records = Self.records
    let inFirstCity = records.count { $0.city == Vocabulary.cities[0] }
    #expect((9_700...10_300).contains(inFirstCity))
    #expect((79_000...81_000).contains(records.count(where: \.active)))
    #expect((900...1_100).contains(records.count { $0.age == 30 }))
    #expect((900...1_100).contains(records.count { $0.score > 0.99 }))
    #expect(records.allSatisfy { (0..<100).contains($0.age) && (0..<1).contains($0.score) })
    #expect(records.allSatisfy { (1...2_000).contains($0.companyID) })
    #expect(records.allSatisfy { (1.5e9..<1.7e9).contains($0.createdAt) })
  }

  @Test("a record depends on nothing but its index and the size")
  func determinism() {
    #expect(WorkloadPerson(index: 777, size: Self.size) == Self.records[776])
    var fingerprint = Fingerprint()
    for record in Self.records.prefix(1_000) { fingerprint.add(record) }
    #expect(fingerprint.count == 1_000)
    #expect(fingerprint.value == goldenFingerprint)
  }

  /// Of the first 1,000 records at 100,000; a change here makes all older figures incomparable.
  let goldenFingerprint: UInt64 = 16_513_838_245_724_250_912

  @Test("distinct samples are distinct and in range")
  func distinctSamples() {
    var stream = RandomStream(operation: 204)
    let sample = stream.distinct(10_000, upTo: 100_000)
    #expect(Set(sample).count == 10_000)
    #expect(sample.allSatisfy { (1...100_000).contains($0) })
    var all = RandomStream(operation: 205)
    #expect(Set(all.distinct(50, upTo: 50)).count == 50)
  }

  @Test("the checksum tells every field apart")
  func checksumSeesEveryField() {
    let base = Self.records[41]
    let changes: [(inout WorkloadPerson) -> Void] = [
      { $0.id += 1 }, { $0.name += "x" }, { $0.email += "x" }, { $0.age += 1 },
      { $0.score = $0.score.nextUp }, { $0.active.toggle() },
      { $0.createdAt = $0.createdAt.nextUp }, { $0.city += "x" }, { $0.companyID += 1 },
    ]
    var seen: Set<UInt64> = [base.checksum]
    for change in changes {
      var changed = base
      change(&changed)
      seen.insert(changed.checksum)
    }
    #expect(seen.count == changes.count + 1)
  }

  @Test("the checksum of companies tells whose people they are")
  func companyChecksumSeesWhosePeople() {
    func sum(_ first: Int, _ second: Int) -> UInt64 {
      companyChecksum(id: 1, name: "Company 1", people: first)
        &+ companyChecksum(id: 2, name: "Company 2", people: second)
    }
    #expect(sum(3, 5) != sum(5, 3))
    #expect(sum(3, 5) != sum(4, 4))
    #expect(
      companyChecksum(id: 1, name: "Company 1", people: 3)
        != companyChecksum(id: 1, name: "Company 10", people: 3))
  }

  @Test("the checksum of links tells apart links between the same students and courses")
  func linkChecksumSeesPairs() {
    func sum(_ pairs: [(Int64, Int64)]) -> UInt64 {
      pairs.reduce(0) { $0 &+ linkChecksum(student: $1.0, course: $1.1) }
    }
    for student: Int64 in 1...50 {
      for course: Int64 in 1...50 where course != student {
        #expect(
          sum([(student, course), (course, student)])
            != sum([(student, student), (course, course)]))
      }
    }
  }
}
