import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Faults planted behind the store's back; each must be found, named, and nothing else.
@Suite("Verification of associations")
struct LinkVerificationTests {
  struct Student: Record, Equatable {
    var id = RecordID<Student>()
    var name = ""
    var mentorID: RecordID<Student>?
    var topicID: String?
    var topicIDs: [String] = []
    var formerID: UUID?

    static let schema = Schema<Student> {
      ManyToMany(Course.self, named: "attends")
      ManyToMany(Student.self, named: "knows")
      BelongsTo(\.mentorID, to: Student.self)
      BelongsTo(\.topicID, to: Topic.self)
      HasMany(Topic.self, in: \.topicIDs)
    }
  }

  struct Course: Record, Equatable {
    var id = UUID()
    var title = ""
    static let schema = Schema<Course> {
      HasMany(\Student.formerID, onDelete: DeleteRule.none)
      ManyToMany(Topic.self, named: "covers")
    }
  }

  struct Topic: Record, Equatable {
    var id: String
    static let schema = Schema<Topic> {}
  }

  static let long = String(repeating: "long ", count: 60)
  static func course(_ number: UInt8) -> UUID {
    UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, number))
  }
  static func courseText(_ number: UInt8) -> String { course(number).uuidString }

  let store: Store
  let attends: DamagedLinks
  let knows: DamagedLinks
  let covers: DamagedLinks

  init() throws {
    store = try Store.temporary(for: Student.self, Course.self, Topic.self)
    attends = DamagedLinks(store: store, key: "Course/Student/attends")
    knows = DamagedLinks(store: store, key: "Student/Student/knows")
    covers = DamagedLinks(store: store, key: "Course/Topic/covers")
    try store.saveAll(["a", "b", Self.long + "1", Self.long + "2"].map { Topic(id: $0) })
    try store.saveAll((1...4).map { Course(id: Self.course($0), title: "c\($0)") })
    try store.saveAll(
      (1...20).map {
        Student(
          name: "s\($0)", mentorID: $0 > 1 ? 1 : nil,
          topicID: [nil, "a", Self.long + "1"][$0 % 3], topicIDs: ["b", Self.long + "2"],
          formerID: $0 == 5 ? Self.course(1) : nil)
      })
    for student in 1...20 {
      let id = try bytes(of: RecordID<Student>(Int64(student)))
      try attends.add(try bytes(of: Self.course(1)), id)
      if student.isMultiple(of: 2) { try attends.add(try bytes(of: Self.course(2)), id) }
      try knows.add(id, try bytes(of: RecordID<Student>(Int64(student % 20 + 1))))
    }
    try covers.add(try bytes(of: Self.course(1)), try bytes(of: "a"))
    try covers.add(try bytes(of: Self.course(1)), try bytes(of: Self.long + "1"))
    try covers.add(try bytes(of: Self.course(3)), try bytes(of: Self.long + "2"))
  }

  private func student(_ number: Int64) throws -> [UInt8] {
    try bytes(of: RecordID<Student>(number))
  }

  private func expectRepaired(to dump: String) throws {
    try store.rebuild()
    #expect(TextDifference.between(expected: dump, actual: try store.dump()) == nil)
    let report = try store.proof()
    #expect(report.isClean, "\(report)")
  }

  @Test("Sound lists and references are counted, each link once")
  func sound() throws {
    let report = try store.proof()
    #expect(report.isClean, "\(report)")
    #expect(report.linkCount == 20 + 10 + 20 + 3)
    // 19 mentors, 13 topics, 20 times two in lists, one former course.
    #expect(report.referenceCount == 19 + 14 + 40 + 1, "\(report)")
    #expect(report.looseReferenceCount == 0)
  }

  @Test("A verification waits for no writer, and proves what was committed")
  func besideWriter() throws {
    try store.write { tx throws in
      _ = try tx.delete(Student.self, 20)
      #expect(try store.verify().isClean)
      #expect(try store.verify().linkCount == 53)
    }
    #expect(try store.verify().isClean)
    #expect(try store.verify().linkCount == 53 - 4)
  }

  @Test("A link that one direction lacks is found, whichever it is, and comes back")
  func oneSided() throws {
    let before = try store.dump()
    let course = try bytes(of: Self.course(2))
    try attends.change(course, try student(4), isForward: false, isRemoval: true)
    #expect(
      try store.faults() == [
        "oneSidedLink, collection Course, association Course/Student/attends, id \(Self.courseText(2)), lists id 4 of Student, which does not list it"
      ])
    try expectRepaired(to: before)
    try attends.change(course, try student(6), isForward: true, isRemoval: true)
    #expect(
      try store.faults() == [
        "oneSidedLink, collection Student, association Course/Student/attends, id 6, lists id \(Self.courseText(2)) of Course, which does not list it"
      ])
    #expect(try store.proof().linkCount == 53)
    try expectRepaired(to: before)
  }

  @Test("Directions that have as many links but not the same are found, both of them")
  func moved() throws {
    let course = try bytes(of: Self.course(2))
    try attends.change(course, try student(4), isForward: false, isRemoval: true)
    try attends.change(course, try student(5), isForward: false, isRemoval: false)
    let faults = try store.proof().faults
    #expect(faults.map(\.kind) == [.oneSidedLink, .oneSidedLink])
    #expect(faults.map(\.id) == [Self.courseText(2), "5"])
    try store.rebuild()
    #expect(try store.proof().isClean)
    let pairs = try attends.pairs(isForward: true)
    #expect(pairs.contains([Self.courseText(2), "4"]))
    #expect(pairs.contains([Self.courseText(2), "5"]))
  }

  @Test("A repair in many small steps comes to the same as one in a single step")
  func smallSteps() throws {
    var random = SeededGenerator(seed: 41)
    func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }
    // What must be left: links between existing records, which either direction has.
    try store.lose(Course.self, Self.course(1))
    try store.lose(Student.self, 7)
    for _ in 0..<60 {
      try attends.change(
        try bytes(of: Self.course(UInt8(below(5) + 1))),
        try student(Int64(below(22) + 1)), isForward: below(2) == 0,
        isRemoval: below(3) == 0)
    }
    let expected = Set(try attends.pairs(isForward: true) + attends.pairs(isForward: false))
      .filter { pair in
        pair[1] != "7" && (Int(pair[1]) ?? 0) <= 20
          && [2, 3, 4].map(Self.courseText).contains(pair[0])
      }
    #expect(!expected.isEmpty)
    let lists = try #require(
      try StoredLists.all(in: store.environment) { _, _ in }.first {
        $0.stored.key == attends.key
      })
    for batchSize in [1, 2, 7] {
      try store.environment.write { transaction in
        try LinkRepair(lists: lists, transaction: transaction, batchSize: batchSize).run()
      }
      #expect(Set(try attends.pairs(isForward: true)) == expected)
      #expect(Set(try attends.pairs(isForward: false)) == expected)
      for pair in expected.prefix(5) {
        let id = try bytes(of: try #require(UUID(uuidString: pair[0])))
        try attends.change(
          id, try student(Int64(pair[1]) ?? 0), isForward: below(2) == 0, isRemoval: true)
      }
    }
  }

  @Test("Lists between records of one type are proved in their direction")
  func ownType() throws {
    // 1 knows 2; that 2 knows 1 is another link.
    try knows.change(try student(2), try student(1), isForward: true, isRemoval: false)
    #expect(
      try store.faults() == [
        "oneSidedLink, collection Student, association Student/Student/knows, id 2, lists id 1 of Student, which does not list it"
      ])
    try store.rebuild()
    #expect(try store.proof().isClean)
    #expect(try knows.pairs(isForward: true).contains(["2", "1"]))
  }

  @Test("Links to a missing record are found once for each end, and are removed")
  func danglingLinks() throws {
    try store.lose(Course.self, Self.course(2))
    try store.lose(Topic.self, Self.long + "2")
    try store.rebuild()
    // The students' references to the topic stay, and are reported.
    let kinds = Set(try store.proof().faults.map(\.kind))
    #expect(kinds == [.danglingReference])
    var topic = Topic(id: Self.long + "2")
    try store.write { try $0.save(&topic) }
    #expect(try store.proof().isClean)
    #expect(try attends.pairs(isForward: false).allSatisfy { $0[0] != Self.courseText(2) })
    #expect(try attends.pairs(isForward: true).count == 20)
    #expect(try covers.pairs(isForward: true).map { $0[1] } == ["a", Self.long + "1"])
  }

  @Test("Links of a missing record at either end are named with their number")
  func danglingLinkFaults() throws {
    try store.lose(Course.self, Self.course(2))
    #expect(
      try store.faults() == [
        "danglingLink, collection Course, association Course/Student/attends, id \(Self.courseText(2)), no such record, 10 links"
      ])
    var course = Course(id: Self.course(2), title: "c2")
    try store.write { try $0.save(&course) }
    #expect(try store.proof().isClean)
    try store.lose(Topic.self, "a")
    let faults = try store.faults().filter { !$0.hasPrefix("danglingReference") }
    #expect(
      faults == [
        "danglingLink, collection Topic, association Course/Topic/covers, id a, no such record, 1 link"
      ])
  }

  @Test("A link to a record that never was, in one direction only, is both, and goes")
  func neverThere() throws {
    let before = try store.dump()
    try attends.change(
      try bytes(of: Self.course(1)), try student(99), isForward: true, isRemoval: false)
    #expect(
      try store.proof().faults.map { [$0.kind.rawValue, $0.collection, $0.id] } == [
        ["oneSidedLink", "Course", Self.courseText(1)], ["danglingLink", "Student", "99"],
      ])
    try expectRepaired(to: before)
    try attends.change(
      try bytes(of: Self.course(9)), try student(9), isForward: false, isRemoval: false)
    #expect(
      try store.proof().faults.map { [$0.kind.rawValue, $0.collection, $0.id] } == [
        ["oneSidedLink", "Student", "9"], ["danglingLink", "Course", Self.courseText(9)],
      ])
    try expectRepaired(to: before)
  }

  @Test("References that lead nowhere are found: short, long and cut, single and in lists")
  func danglingReferences() throws {
    try store.lose(Topic.self, "a")
    try store.lose(Topic.self, Self.long + "2")
    let faults = try store.proof().faults
    let references = faults.filter { $0.kind == .danglingReference }
    #expect(references.filter { $0.association == "Student.topicID" }.count == 7)
    #expect(references.filter { $0.association == "Student.topicIDs" }.count == 20)
    #expect(references.count == 27)
    #expect(
      references.first?.description
        == "danglingReference, collection Student, association Student.topicID, id 1, no record a of Topic"
    )
    // Rebuilding does not guess what they must be.
    try store.rebuild()
    #expect(try store.proof().faults.map(\.kind).allSatisfy { $0 == .danglingReference })
    var topics = [Topic(id: "a"), Topic(id: Self.long + "2")]
    try store.write { tx in for index in topics.indices { try tx.save(&topics[index]) } }
    #expect(try store.proof().isClean)
  }

  @Test("A reference that need not lead anywhere is counted and no fault")
  func looseReferences() throws {
    try store.lose(Course.self, Self.course(1))
    try store.rebuild()
    let report = try store.proof()
    #expect(report.isClean, "\(report)")
    #expect(report.looseReferenceCount == 1)
    #expect(report.description.contains("1 of them loose"))
  }

  @Test("Lists that are no longer declared, and lists of types that are not open, are checked too")
  func undeclared() throws {
    struct Plain: Record {
      var id = RecordID<Student>()
      static let collectionName = "Student"
      static let schema = Schema<Plain> {}
    }
    try attends.change(
      try bytes(of: Self.course(2)), try student(4), isForward: false, isRemoval: true)
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    try store.environment.copy(to: path, compacting: false)
    for types in [[Plain.self], []] as [[any Record.Type]] {
      let other = try Store(path: path, types: types, options: .init(), isTemporary: false)
      defer { other.close() }
      #expect(try other.verify().faults.map(\.kind) == [.oneSidedLink])
      try other.rebuild()
      #expect(try other.verify().isClean)
      #expect(try other.verify().linkCount == 53)
      try DamagedLinks(store: other, key: "Course/Student/attends").change(
        try bytes(of: Self.course(2)), try student(4), isForward: true, isRemoval: true)
    }
  }
}
