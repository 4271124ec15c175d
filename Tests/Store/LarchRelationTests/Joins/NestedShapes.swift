import LarchTestSupport
import Testing

@testable import Larch

/// A request of any type, whose rows are compared as texts with those of arrays.
struct NestedShape {
  let name: String
  /// Runs every verb and compares.
  let check: (_ reader: any RecordReading, _ graph: NestedGraph, _ place: String) throws -> Void
  /// Observes, and returns what compares the newest value.
  let observe: (_ store: Store) -> (_ graph: NestedGraph, _ place: String) throws -> Int

  init<Q: Request>(
    _ name: String, _ request: Q, _ text: @escaping (Q.Row) -> String,
    _ expected: @escaping (NestedGraph) -> [String]
  ) where Q.Row: Sendable {
    self.name = name
    check = { try Self.check(request, in: $0, expected($1), "\($2), \(name)", text) }
    observe = { store in
      let observer = store.observe(request).makeAsyncIterator().polled
      var last: [String]?
      return { graph, place in
        if let value = try observer.poll() { last = value.value.map(text) }
        #expect(last == expected(graph), "\(place), \(name)")
        return observer.patches
      }
    }
  }

  private struct Enough: Error {}

  private static func check<Q: Request>(
    _ request: Q, in reader: some RecordReading, _ expected: [String], _ place: String,
    _ text: (Q.Row) -> String
  ) throws {
    #expect(try reader.fetch(request).map(text) == expected, "\(place)")
    #expect(try reader.first(request).map(text) == expected.first, "\(place)")
    #expect(try reader.count(request) == expected.count, "\(place)")
    #expect(try reader.exists(request) == !expected.isEmpty, "\(place)")
    var visited: [String] = []
    try reader.forEach(request) { visited.append(text($0)) }
    #expect(visited == expected, "\(place)")
    if !expected.isEmpty {
      #expect(throws: Enough.self) { try reader.forEach(request) { _ in throw Enough() } }
    }
    let plan = try reader.explain(request)
    #expect(try reader.explain(request, running: true).hasPrefix(plan), "\(place)")
  }
}

extension NestedShape {
  private typealias Firm = NestedGraph.Firm
  private typealias Person = NestedGraph.Person
  private typealias Badge = NestedGraph.Badge
  private typealias Tag = NestedGraph.Tag
  private typealias Club = NestedGraph.Club
  private typealias Course = NestedGraph.Course

  private static func t<R: NestedGraph.Ranked>(_ record: R) -> String {
    "\(record.id.rawValue):\(record.rank)"
  }
  private static func t<R: NestedGraph.Ranked>(_ record: R?) -> String { record.map(t) ?? "-" }
  private static func t<R: NestedGraph.Ranked>(_ records: [R]) -> String {
    "[" + records.map(t).joined(separator: " ") + "]"
  }
  private static func list<Element>(_ elements: [Element], _ text: (Element) -> String) -> String {
    "{" + elements.map(text).joined(separator: "; ") + "}"
  }

  /// Requests of each shape, with random refinements.
  static func all(_ random: inout SeededGenerator) -> [NestedShape] {
    flat(&random) + below(&random) + deep(&random)
  }

  private static func flat(_ random: inout SeededGenerator) -> [NestedShape] {
    let person = RankedPart<Person>(&random)
    let (firm, badge) = (RankedPart<Firm>(&random), RankedPart<Badge>(&random))
    let (tag, club) = (RankedPart<Tag>(&random), RankedPart<Club>(&random))
    let course = RankedPart<Course>(&random)
    return [
      NestedShape(
        "two", person.query.with(Person.firm).with(Person.tags, from: tag.query),
        { t($0) + t($1) + t($2) },
        { g in person(g.people).map { t($0) + t(g.firm($0).first) + t(tag(g.tags($0))) } }),
      NestedShape(
        "six",
        person.query.with(Person.clubs, from: club.query).with(Person.badge, from: badge.query)
          .with(Person.courses, from: course.query).with(Person.boss)
          .with(Person.firm, from: firm.query).with(Person.reports, from: person.query),
        { t($0) + t($1) + t($2) + t($3) + t($4) + t($5) + t($6) },
        { g in
          person(g.people).map {
            t($0) + t(club(g.clubs($0))) + t(badge(g.badge($0)).first) + t(course(g.courses($0)))
              + t(g.boss($0).first) + t(firm(g.firm($0)).first) + t(person(g.reports($0)))
          }
        }),
      NestedShape(
        "the same twice", Firm.all.with(Firm.people).with(Firm.people, from: person.query),
        { t($0) + t($1) + t($2) },
        { g in g.firms.map { t($0) + t(g.people($0)) + t(person(g.people($0))) } }),
    ]
  }

  private static func below(_ random: inout SeededGenerator) -> [NestedShape] {
    let (person, firm) = (RankedPart<Person>(&random), RankedPart<Firm>(&random))
    let (badge, tag) = (RankedPart<Badge>(&random), RankedPart<Tag>(&random))
    let club = RankedPart<Club>(&random)
    return [
      NestedShape(
        "badges of people",
        firm.query.with(
          Firm.people, from: person.query.with(Person.badge, from: badge.query)),
        { t($0) + list($1) { t($0) + t($1) } },
        { g in
          firm(g.firms).map {
            t($0) + list(person(g.people($0))) { t($0) + t(badge(g.badge($0)).first) }
          }
        }),
      NestedShape(
        "shared tags, and the boss with a firm",
        person.query.with(Person.tags, from: tag.query.with(Tag.people))
          .with(Person.boss, from: Person.all.with(Person.firm)),
        { person, tags, boss in
          t(person) + list(tags) { t($0) + t($1) } + (boss.map { t($0) + t($1) } ?? "-")
        },
        { g in
          person(g.people).map {
            t($0) + list(tag(g.tags($0))) { t($0) + t(g.people($0)) }
              + (g.boss($0).first.map { t($0) + t(g.firm($0).first) } ?? "-")
          }
        }),
      NestedShape(
        "shared firms",
        person.query.with(
          Person.firm, from: Firm.all.with(Firm.people, from: Person.all.with(Person.clubs))),
        { person, firm in
          t(person) + (firm.map { t($0) + list($1) { t($0) + t($1) } } ?? "-")
        },
        { g in
          person(g.people).map {
            t($0)
              + (g.firm($0).first.map { t($0) + list(g.people($0)) { t($0) + t(g.clubs($0)) } }
                ?? "-")
          }
        }),
      NestedShape(
        "members",
        Club.all.with(Club.members, from: person.query.with(Person.clubs, from: club.query)),
        { t($0) + list($1) { t($0) + t($1) } },
        { g in
          g.clubs.map { t($0) + list(person(g.members($0))) { t($0) + t(club(g.clubs($0))) } }
        }),
    ]
  }

  private static func deep(_ random: inout SeededGenerator) -> [NestedShape] {
    let person = RankedPart<Person>(&random)
    let course = RankedPart<Course>(&random)
    return [
      NestedShape(
        "bosses of bosses",
        Person.all.with(
          Person.boss,
          from: Person.all.with(
            Person.boss, from: Person.all.with(Person.reports, from: person.query))),
        { person, boss in
          t(person)
            + (boss.map { t($0) + ($1.map { t($0) + t($1) } ?? "-") } ?? "-")
        },
        { g in
          g.people.map {
            t($0)
              + (g.boss($0).first.map {
                t($0) + (g.boss($0).first.map { t($0) + t(person(g.reports($0))) } ?? "-")
              } ?? "-")
          }
        }),
      NestedShape(
        "four levels",
        course.query.with(
          Course.students,
          from: person.query.with(Person.courses, from: course.query.with(Course.students)).with(
            Person.badge, from: Badge.all.with(Badge.person, from: Person.all.with(Person.tags)))),
        { course, students in
          t(course)
            + list(students) { student, courses, badge in
              let badgeText: String =
                badge.map { badge, person in
                  t(badge) + (person.map { person, tags in t(person) + t(tags) } ?? "-")
                } ?? "-"
              return t(student) + list(courses) { t($0) + t($1) } + badgeText
            }
        },
        { g in
          course(g.courses).map { one in
            t(one)
              + list(person(g.students(one))) { student in
                let courses = list(course(g.courses(student))) { t($0) + t(g.students($0)) }
                let badgeText: String =
                  g.badge(student).first.map { badge in
                    t(badge) + (g.person(badge).first.map { t($0) + t(g.tags($0)) } ?? "-")
                  } ?? "-"
                return t(student) + courses + badgeText
              }
          }
        }),
    ]
  }
}

extension StoreObservation.AsyncIterator {
  /// The observer, for tests that ask it for values and do not wait.
  var polled: Observer<Value> {
    switch observer {
    case .success(let observer): observer
    case .failure(let error): fatalError("\(error)")
    }
  }
}
