import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Random lists against sets")
struct RandomLinksTests {
  struct Student: Record {
    var id: String
    static let courses = ManyToMany<Student, Lesson>(named: "courses")
    static let schema = Schema<Student> { courses }
    var courses: Related<Student, Lesson> { related(Student.courses) }
  }

  struct Lesson: Record {
    var id = RecordID<Lesson>()
    static let students = ManyToMany<Lesson, Student>(named: "courses")
    static let schema = Schema<Lesson> { students }
    var students: Related<Lesson, Student> { related(Lesson.students) }
  }

  private struct Undo: Error {}

  /// The expected lists.
  private struct Model {
    var pairs: Set<Pair> = []

    struct Pair: Hashable {
      var student: String
      var lesson: Int64
    }

    func lessons(of student: String) -> [Lesson.ID] {
      pairs.filter { $0.student == student }.map(\.lesson).sorted().map { RecordID($0) }
    }

    func students(of lesson: Lesson.ID) -> [String] {
      pairs.filter { $0.lesson == lesson.rawValue }.map(\.student).sorted()
    }
  }

  private static let students = (0..<12).map { "s\($0)" }
  private static let lessons = (1...12).map { RecordID<Lesson>($0) }

  private func step(
    _ tx: WriteTransaction, _ model: inout Model, _ generator: inout SeededGenerator
  ) throws {
    let student = Self.students.randomElement(using: &generator) ?? ""
    let lesson = Self.lessons.randomElement(using: &generator) ?? 1
    let some = Self.lessons.filter { _ in Bool.random(using: &generator) }
    let others = Self.students.filter { _ in Int.random(in: 0..<3, using: &generator) == 0 }
    let (courses, attendants) = (Student(id: student).courses, Lesson(id: lesson).students)
    func pair(_ student: String, _ lesson: Lesson.ID) -> Model.Pair {
      Model.Pair(student: student, lesson: lesson.rawValue)
    }
    switch Int.random(in: 0..<12, using: &generator) {
    case 0, 1:
      try tx.add(lesson, to: courses)
      model.pairs.insert(pair(student, lesson))
    case 2:
      try tx.add(student, to: attendants)
      model.pairs.insert(pair(student, lesson))
    case 3:
      try tx.add(contentsOf: some.shuffled(using: &generator), to: courses)
      model.pairs.formUnion(some.map { pair(student, $0) })
    case 4:
      try tx.add(contentsOf: others + others, to: attendants)
      model.pairs.formUnion(others.map { pair($0, lesson) })
    case 5, 6:
      try tx.remove(lesson, from: courses)
      model.pairs.remove(pair(student, lesson))
    case 7:
      try tx.remove(student, from: attendants)
      model.pairs.remove(pair(student, lesson))
    case 8:
      try tx.replace(courses, with: some)
      model.pairs = model.pairs.filter { $0.student != student }
      model.pairs.formUnion(some.map { pair(student, $0) })
    case 9:
      try tx.replace(attendants, with: others)
      model.pairs = model.pairs.filter { $0.lesson != lesson.rawValue }
      model.pairs.formUnion(others.map { pair($0, lesson) })
    case 10:
      try tx.removeAll(from: courses)
      model.pairs = model.pairs.filter { $0.student != student }
    default:
      // A loop that changes what it walks over.
      try tx.forEachID(of: courses) { id in
        if id.rawValue % 2 == 0 {
          try tx.remove(id, from: courses)
          model.pairs.remove(pair(student, id))
        }
      }
    }
  }

  private func check(_ reader: some RecordReading, _ model: Model) throws {
    for student in Self.students {
      let courses = Student(id: student).courses
      let wanted = model.lessons(of: student)
      try #require(try reader.ids(courses) == wanted)
      try #require(try reader.count(courses) == wanted.count)
      try #require(try reader.ids(courses.query) == wanted)
      let asked = Self.lessons[wanted.count % Self.lessons.count]
      try #require(try reader.contains(asked, in: courses) == wanted.contains(asked))
    }
    for lesson in Self.lessons {
      let attendants = Lesson(id: lesson).students
      let wanted = model.students(of: lesson)
      try #require(try reader.ids(attendants) == wanted)
      var seen: [String] = []
      try reader.forEachID(of: attendants) { seen.append($0) }
      try #require(seen == wanted)
    }
  }

  @Test(
    "Both directions are what sets say, after each transaction",
    arguments: [1, 2, 3, 4] as [UInt64])
  func random(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let store = try Store.checked(for: Student.self, Lesson.self)
    try store.write { tx in
      for id in Self.students {
        var student = Student(id: id)
        try tx.save(&student)
      }
      for _ in Self.lessons {
        var lesson = Lesson()
        try tx.save(&lesson)
      }
    }
    var model = Model()
    for _ in 0..<60 {
      let before = model
      let isUndone = Int.random(in: 0..<5, using: &generator) == 0
      do {
        try store.write { tx in
          for _ in 0..<Int.random(in: 1...15, using: &generator) {
            try step(tx, &model, &generator)
            if Int.random(in: 0..<6, using: &generator) == 0 { try check(tx, model) }
            guard Int.random(in: 0..<4, using: &generator) == 0 else { continue }
            let outer = model
            do {
              try tx.savepoint {
                for _ in 0..<3 { try step(tx, &model, &generator) }
                if Bool.random(using: &generator) { throw Undo() }
              }
            } catch is Undo {
              model = outer
            }
          }
          if isUndone { throw Undo() }
        }
      } catch is Undo {
        model = before
      }
      try check(store, model)
    }
  }
}
