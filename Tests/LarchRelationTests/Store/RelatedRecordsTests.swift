import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Related records, whichever end holds what")
struct RelatedRecordsTests {
  struct Company: Record, Equatable {
    var id = RecordID<Company>()
    var name = ""

    static let people = HasMany<Company, Person>(\.companyID, onDelete: .nullify)
    static let schema = Schema<Company> { people }

    var people: Related<Company, Person> { related(Company.people) }
  }

  struct Person: Record, Equatable {
    var id = RecordID<Person>()
    var name = ""
    var age = 0
    var companyID: Company.ID?

    static let company = BelongsTo<Person, Company>(\.companyID)
    static let projects = ManyToMany<Person, Project>(named: "members")
    static let schema = Schema<Person> {
      company
      projects
    }

    var company: Related<Person, Company> { related(Person.company) }
    var projects: Related<Person, Project> { related(Person.projects) }
  }

  struct Project: Record, Equatable {
    var id = UUID()
    var name = ""

    static let members = ManyToMany<Project, Person>(named: "members")
    static let schema = Schema<Project> { members }

    var members: Related<Project, Person> { related(Project.members) }
  }

  struct Tag: Record, Equatable {
    var id: String
  }

  struct Post: Record, Equatable {
    var id = 0
    var tagIDs: [Tag.ID] = []
    var readerIDs: Set<Person.ID> = []

    static let tags = HasMany<Post, Tag>(in: \.tagIDs)
    static let readers = HasMany<Post, Person>(in: \.readerIDs)
    static let schema = Schema<Post> {
      tags
      readers
    }

    var tags: Related<Post, Tag> { related(Post.tags) }
    var readers: Related<Post, Person> { related(Post.readers) }
  }

  struct Enrolment: Record, Equatable {
    var id = RecordID<Enrolment>()
    var personID: Person.ID
    var courseID: Course.ID
    var grade = 0
  }

  struct Course: Record, Equatable {
    var id: UInt16

    static let students = HasMany<Course, Person>(
      through: \Enrolment.courseID, \Enrolment.personID)
    static let schema = Schema<Course> { students }

    var students: Related<Course, Person> { related(Course.students) }
  }

  private func store() throws -> Store {
    try Store.checked(
      for: Company.self, Person.self, Project.self, Tag.self, Post.self, Enrolment.self,
      Course.self)
  }

  private func people(_ count: Int, in store: Store) throws -> [Person] {
    try store.write { tx in
      try (0..<count).map { number in
        var person = Person(name: "p\(number)", age: number)
        try tx.save(&person)
        return person
      }
    }
  }

  // MARK: Children

  @Test("Children are listed, counted, refined and tested")
  func children() throws {
    let store = try store()
    let people = try people(5, in: store)
    var acme = Company(name: "Acme")
    var other = Company(name: "Other")
    try store.write { tx in
      try tx.save(&acme)
      try tx.save(&other)
      try tx.add(contentsOf: people[0...3].map(\.id), to: acme.people)
      try tx.add(people[4].id, to: other.people)
    }
    #expect(try acme.people.fetch(in: store).map(\.id) == people[0...3].map(\.id))
    #expect(try acme.people.count(in: store) == 4)
    #expect(try acme.people.exists(in: store))
    #expect(try acme.people.first(in: store)?.name == "p0")
    #expect(try acme.people.ids(in: store) == people[0...3].map(\.id))
    #expect(try acme.people.contains(people[3], in: store))
    #expect(try !acme.people.contains(people[4], in: store))
    #expect(try acme.people.where { $0.age > 1 }.fetch(in: store).map(\.age) == [2, 3])
    #expect(
      try acme.people.sorted(by: \.age, .descending).limit(2).fetch(in: store).map(\.age) == [3, 2])
    #expect(try acme.people.reversed().offset(1).first(in: store)?.age == 2)
    #expect(try store.fetch(acme.people.select(\.name)) == ["p0", "p1", "p2", "p3"])
    #expect(try acme.related(\Person.companyID).count(in: store) == 4)
    #expect(try store.explain(acme.people.query).contains("index companyID [1]"))
    var seen: [Int] = []
    try acme.people.forEach(in: store) { seen.append($0.age) }
    #expect(seen == [0, 1, 2, 3])
  }

  @Test("A child moves when it is added elsewhere, and is without a parent when removed")
  func moving() throws {
    let store = try store()
    let people = try people(3, in: store)
    var acme = Company(name: "Acme")
    var other = Company(name: "Other")
    try store.write { tx in
      try tx.save(&acme)
      try tx.save(&other)
      try tx.add(contentsOf: people.map(\.id), to: acme.people)
      try tx.add(people[1].id, to: other.people)
      // Not one of them any more, so nothing happens.
      try tx.remove(people[1], from: acme.people)
      try tx.remove(people[2], from: acme.people)
    }
    #expect(try acme.people.ids(in: store) == [people[0].id])
    #expect(try other.people.ids(in: store) == [people[1].id])
    #expect(try store.find(Person.self, [people[2].id]).first?.companyID == nil)
    try other.people.replace(with: people.map(\.id), in: store)
    #expect(try other.people.count(in: store) == 3)
    #expect(try acme.people.count(in: store) == 0)
    try other.people.replace(with: [people[2].id], in: store)
    #expect(try other.people.ids(in: store) == [people[2].id])
    try other.people.removeAll(in: store)
    #expect(try !other.people.exists(in: store))
    #expect(try store.count(Person.all) == 3)
  }

  @Test("A new child is saved with its reference")
  func newChild() throws {
    let store = try store()
    var acme = Company(name: "Acme")
    var ada = Person(name: "Ada")
    try store.write { tx in
      try tx.save(&acme)
      try tx.add(&ada, to: acme.people)
    }
    #expect(ada.id.isAssigned)
    #expect(ada.companyID == acme.id)
    #expect(try acme.people.fetch(in: store) == [ada])
    var lost = Person(name: "Lost")
    let error = #expect(throws: LarchError.self) {
      try store.add(&lost, to: Company().people)
    }
    #expect(error?.code == .unsavedReference)
    #expect(lost == Person(name: "Lost"))
  }

  @Test("An error in the middle of adding leaves no changes")
  func batch() throws {
    let store = try store()
    let people = try people(2, in: store)
    var acme = Company()
    try store.write { tx in
      try tx.save(&acme)
      let error = #expect(throws: LarchError.self) { () throws in
        try tx.add(contentsOf: [people[0].id, 77, people[1].id], to: acme.people)
      }
      #expect(error?.code == .recordNotFound)
      #expect(error?.context.id == "77")
    }
    #expect(try acme.people.count(in: store) == 0)
  }

  // MARK: Parents

  @Test("A parent is set, replaced and cleared")
  func parent() throws {
    let store = try store()
    var ada = try people(1, in: store)[0]
    var acme = Company(name: "Acme")
    var other = Company(name: "Other")
    try store.write { tx in
      try tx.save(&acme)
      try tx.save(&other)
      try tx.add(acme.id, to: ada.company)
    }
    // The record in the program is as it was until it is fetched again.
    #expect(try ada.company.first(in: store) == nil)
    ada = try #require(try store.find(Person.self, [ada.id]).first)
    #expect(try ada.company.first(in: store) == acme)
    #expect(try ada.company.count(in: store) == 1)
    #expect(try ada.company.contains(acme.id, in: store))
    #expect(try !ada.company.contains(other.id, in: store))
    try ada.company.replace(with: [other.id], in: store)
    #expect(try other.people.ids(in: store) == [ada.id])
    let error = #expect(throws: LarchError.self) {
      try ada.company.add(contentsOf: [acme.id, other.id], in: store)
    }
    #expect(error?.code == .unsuitableAssociation)
    try ada.company.remove(acme.id, in: store)
    #expect(try other.people.count(in: store) == 1)
    try ada.company.remove(other.id, in: store)
    #expect(try other.people.count(in: store) == 0)
    var third = Company(name: "Third")
    try ada.company.add(&third, in: store)
    #expect(try third.people.ids(in: store) == [ada.id])
  }

  // MARK: Lists in records

  @Test("A list of ids in a record keeps its order, and each id once")
  func listed() throws {
    let store = try store()
    var post = Post(id: 1)
    try store.write { tx in
      for name in ["a", "b", "c", "d"] {
        var tag = Tag(id: name)
        try tx.save(&tag)
      }
      try tx.save(&post)
      try tx.add(contentsOf: ["c", "a", "c"], to: post.tags)
      try tx.add("b", to: post.tags)
      try tx.add("a", to: post.tags)
    }
    post = try #require(try store.find(Post.self, [1]).first)
    #expect(post.tagIDs == ["c", "a", "b"])
    #expect(try post.tags.ids(in: store) == ["a", "b", "c"])
    #expect(try post.tags.count(in: store) == 3)
    #expect(try store.find(Tag.self, post.tagIDs + ["z", "c"]).map(\.id) == ["c", "a", "b"])
    var order: [String] = []
    try post.tags.forEachID(in: store) { order.append($0) }
    #expect(order == ["c", "a", "b"])
    #expect(try Tag(id: "b").related(\Post.tagIDs).fetch(in: store) == [post])
    try post.tags.remove("a", in: store)
    try post.tags.remove("z", in: store)
    #expect(try store.fetch(Post.all)[0].tagIDs == ["c", "b"])
    // From the other side it is the same list.
    try store.write { tx in
      try tx.add(1, to: Tag(id: "d").related(\Post.tagIDs))
      try tx.remove(1, from: Tag(id: "c").related(\Post.tagIDs))
    }
    #expect(try store.fetch(Post.all)[0].tagIDs == ["b", "d"])
    try post.tags.replace(with: ["d", "c", "d", "a"], in: store)
    #expect(try store.fetch(Post.all)[0].tagIDs == ["d", "c", "a"])
    try post.tags.removeAll(in: store)
    #expect(try store.fetch(Post.all)[0].tagIDs == [])
    var new = Tag(id: "new")
    try post.tags.add(&new, in: store)
    #expect(try store.fetch(Post.all)[0].tagIDs == ["new"])
    let error = #expect(throws: LarchError.self) { try post.tags.add("gone", in: store) }
    #expect(error?.code == .danglingReference)
  }

  @Test("A set of ids in a record")
  func set() throws {
    let store = try store()
    let people = try people(3, in: store)
    var post = Post(id: -5)
    try store.write { tx in
      try tx.save(&post)
      try tx.add(contentsOf: people.map(\.id), to: post.readers)
      try tx.remove(people[1].id, from: post.readers)
    }
    post = try #require(try store.find(Post.self, [-5]).first)
    #expect(post.readerIDs == [people[0].id, people[2].id])
    #expect(try post.readers.where { $0.age > 0 }.ids(in: store) == [people[2].id])
    #expect(try people[2].related(\Post.readerIDs).ids(in: store) == [-5])
    #expect(try people[2].related(\Post.readerIDs).contains(-5, in: store))
  }

  // MARK: Lists between types

  @Test("Lists between two types are the same from both sides")
  func links() throws {
    let store = try store()
    let people = try people(4, in: store)
    var larch = Project(name: "Larch")
    var yew = Project(name: "Yew")
    try store.write { tx in
      try tx.save(&larch)
      try tx.save(&yew)
      try tx.add(contentsOf: people.map(\.id) + people.map(\.id), to: larch.members)
      try tx.add(yew.id, to: people[2].projects)
      try tx.add(yew, to: people[2].projects)
      #expect(try tx.count(yew.members) == 1)
    }
    #expect(try larch.members.fetch(in: store) == people)
    #expect(try larch.members.count(in: store) == 4)
    #expect(try larch.members.where { $0.age >= 2 }.count(in: store) == 2)
    #expect(try larch.members.query.ids(in: store) == people.map(\.id))
    #expect(try Set(people[2].projects.ids(in: store)) == [larch.id, yew.id])
    #expect(try people[2].projects.where { $0.name == "Yew" }.fetch(in: store) == [yew])
    #expect(try yew.members.contains(people[2], in: store))
    #expect(try !yew.members.contains(people[1], in: store))
    try store.write { tx in
      try tx.remove(people[2].id, from: larch.members)
      try tx.remove(people[1].id, from: yew.members)
    }
    #expect(try people[2].projects.ids(in: store) == [yew.id])
    try larch.members.replace(with: [people[3].id, people[2].id], in: store)
    #expect(try larch.members.ids(in: store) == [people[2].id, people[3].id])
    #expect(try people[0].projects.count(in: store) == 0)
    try larch.members.removeAll(in: store)
    #expect(try larch.members.first(in: store) == nil)
    #expect(try people[2].projects.ids(in: store) == [yew.id])
    var new = Person(name: "new")
    try larch.members.add(&new, in: store)
    #expect(try larch.members.fetch(in: store) == [new])
  }

  @Test("Both ends of a link may be saved after it, and an end that never comes is an error")
  func linksInAnyOrder() throws {
    let store = try store()
    let project = Project()
    let people = try people(1, in: store)
    try store.write { tx in
      try tx.add(people[0].id, to: project.members)
      var project = project
      try tx.save(&project)
    }
    #expect(try project.members.count(in: store) == 1)
    let never = Project()
    let error = #expect(throws: LarchError.self) {
      try store.add(never.id, to: people[0].projects)
    }
    #expect(error?.code == .danglingReference)
    #expect(try people[0].projects.ids(in: store) == [project.id])
    try store.write { tx in
      try tx.add(never.id, to: people[0].projects)
      try tx.remove(never.id, from: people[0].projects)
    }
    let unsaved = #expect(throws: LarchError.self) {
      try store.add(Person().id, to: project.members)
    }
    #expect(unsaved?.code == .unsavedReference)
    #expect(unsaved?.context.field == "Person/Project/members")
  }

  // MARK: Join records

  @Test("Join records are saved by themselves, and removed with what they relate")
  func through() throws {
    let store = try store()
    let people = try people(4, in: store)
    var maths = Course(id: 65_535)
    var art = Course(id: 7)
    try store.write { tx in
      try tx.save(&maths)
      try tx.save(&art)
      for person in people.dropLast() {
        for course in [maths, art] {
          var enrolment = Enrolment(personID: person.id, courseID: course.id)
          try tx.save(&enrolment)
        }
      }
      var again = Enrolment(personID: people[0].id, courseID: maths.id, grade: 2)
      try tx.save(&again)
    }
    #expect(try maths.students.count(in: store) == 3)
    #expect(try maths.students.fetch(in: store) == Array(people.dropLast()))
    #expect(try maths.students.contains(people[0], in: store))
    #expect(try !maths.students.contains(people[3], in: store))
    #expect(try maths.students.where { $0.age > 0 }.ids(in: store) == [people[1].id, people[2].id])
    var seen: [Person.ID] = []
    try maths.students.forEachID(in: store) { seen.append($0) }
    #expect(seen == people.dropLast().map(\.id))
    let error = #expect(throws: LarchError.self) { try maths.students.add(people[3].id, in: store) }
    #expect(error?.code == .unsuitableAssociation)
    try maths.students.remove(people[0], in: store)
    #expect(try store.count(Enrolment.all) == 5)
    #expect(try maths.students.ids(in: store) == [people[1].id, people[2].id])
    let joined = #expect(throws: LarchError.self) {
      try maths.students.replace(with: [people[1].id, people[3].id], in: store)
    }
    #expect(joined?.code == .unsuitableAssociation)
    try maths.students.replace(with: [people[1].id], in: store)
    #expect(try maths.students.ids(in: store) == [people[1].id])
    try maths.students.removeAll(in: store)
    #expect(try store.count(Enrolment.all) == 3)
    #expect(try art.students.count(in: store) == 3)
    #expect(try store.count(Person.all) == 4)
  }
}
