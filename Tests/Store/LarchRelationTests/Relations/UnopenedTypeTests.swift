import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Rules that act on types that are not open")
struct UnopenedTypeTests {
  struct Owner: Record {
    var id = RecordID<Owner>()
  }

  struct Pet: Record {
    var id = RecordID<Pet>()
    var ownerID: Owner.ID?

    static let schema = Schema<Pet> {
      BelongsTo(\.ownerID, to: Owner.self, onDelete: .destroyLast)
      HasMany(\Owner2.petID)
    }
  }

  struct Owner2: Record {
    var id = RecordID<Owner2>()
    var petID: Pet.ID?
  }

  /// `Owner` in a program without pets.
  struct LonelyOwner: Record {
    var id = RecordID<LonelyOwner>()
    static let collectionName = "Owner"
  }

  @Test("A rule that acts on a type that is not open is refused, not skipped")
  func unopened() throws {
    let scratch = FileManager.default.temporaryDirectory
      .appendingPathComponent("larch-\(UUID().uuidString).larch")
    defer {
      for suffix in ["", "-lock"] {
        try? FileManager.default.removeItem(atPath: scratch.path + suffix)
      }
    }
    var owner = Owner()
    do {
      let store = try Store(at: scratch.path, for: Owner.self, Pet.self, Owner2.self)
      try store.write { tx in
        try tx.save(&owner)
        var pet = Pet(ownerID: owner.id)
        try tx.save(&pet)
      }
      store.close()
    }
    let store = try Store(at: scratch.path, for: LonelyOwner.self)
    let id = LonelyOwner.ID(owner.id.rawValue)
    let error = #expect(throws: LarchError.self) {
      try store.write { try $0.delete(LonelyOwner.self, id) }
    }
    #expect(error?.code == .unknownCollection)
    #expect(error?.context.field == "Pet.ownerID")
    #expect(error?.context.detail == "Pet")
    let erased = #expect(throws: LarchError.self) {
      try store.write { try $0.erase(LonelyOwner.self) }
    }
    #expect(erased?.code == .unknownCollection)
    #expect(throws: LarchError.self) { try store.deletionPlan(for: LonelyOwner.self, id) }
    #expect(try store.count(LonelyOwner.all) == 1)
    store.close()
  }

  struct Student: Record {
    var id: Int

    static let courses = ManyToMany<Student, Course>(named: "courses", onDelete: .destroyLast)
    static let schema = Schema<Student> { courses }
  }

  struct Course: Record {
    var id: Int
  }

  /// `Student` and `Course`, as programs declare them that know one of them only.
  struct LonelyStudent: Record {
    var id: Int
    static let collectionName = "Student"
  }

  struct LonelyCourse: Record {
    var id: Int
    static let collectionName = "Course"
  }

  @Test("Lists of a type that is not open lose deleted records, unless a rule refuses")
  func unopenedLists() throws {
    let scratch = FileManager.default.temporaryDirectory
      .appendingPathComponent("larch-\(UUID().uuidString).larch")
    defer {
      for suffix in ["", "-lock"] {
        try? FileManager.default.removeItem(atPath: scratch.path + suffix)
      }
    }
    do {
      let store = try Store(at: scratch.path, for: Student.self, Course.self)
      try store.write { tx in
        for id in 1...3 {
          var student = Student(id: id)
          var course = Course(id: id)
          try tx.save(&student)
          try tx.save(&course)
        }
        try tx.add(contentsOf: [1, 2], to: Student(id: 1).related(Student.courses))
      }
      store.close()
    }
    do {
      let store = try Store(at: scratch.path, for: LonelyStudent.self)
      let error = #expect(throws: LarchError.self) {
        try store.write { try $0.delete(LonelyStudent.self, 1) }
      }
      #expect(error?.code == .unknownCollection)
      #expect(error?.context.field == "Course/Student/courses")
      // It is in no list.
      #expect(try store.write { try $0.delete(LonelyStudent.self, 3) })
      store.close()
    }
    do {
      let store = try Store(at: scratch.path, for: LonelyCourse.self)
      #expect(try store.write { try $0.delete(LonelyCourse.self, 2) })
      store.close()
    }
    let store = try Store(at: scratch.path, for: Student.self, Course.self)
    #expect(try store.ids(Student(id: 1).related(Student.courses)) == [1])
    #expect(try store.verify().isClean)
    store.close()
  }
}
