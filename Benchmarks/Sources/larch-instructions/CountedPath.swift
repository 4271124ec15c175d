import BenchmarkFigures
import Foundation
import Larch
import Workload

/// Callgrind counts what happens in here.
///
/// Hands something back, so that it is not over with a jump into the body, of which callgrind would
/// not see the end.
@inline(never)
func countedRegion(_ body: () throws -> Void) rethrows -> Int {
  try body()
  return 1
}

/// Callgrind writes a file at the end of this. A function of its own, because callgrind keeps only
/// the first of two patterns that fit one function.
@inline(never)
func dumpedRegion(_ body: () throws -> Void) rethrows -> Int {
  let counted = try countedRegion(body)
  return counted + 1
}

/// One of the main paths: what programs do with a store again and again.
struct CountedPath: Sendable {
  /// Small, because callgrind is slow; a tree of three levels nevertheless.
  static let size = 10_000

  var name: String
  var operations: Int
  /// Makes what the path needs and hands back what is counted. Pass 0 is not: what happens once in
  /// a program is over when pass 1 begins.
  var prepare: @Sendable (_ store: Store, _ pass: Int) -> () throws -> Void

  static func runAll(in directory: String) throws {
    let folder = URL(filePath: directory).appending(path: "larch-instructions-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let store = try Store(
      at: folder.appending(path: "people.larch").path, for: Person.self, MemberwisePerson.self)
    defer { store.close() }
    try fill(store)
    var regions = 0
    for path in all {
      let warmUp = path.prepare(store, 0)
      try warmUp()
      let counted = path.prepare(store, 1)
      regions += try dumpedRegion(counted) - 1
    }
    print("\(regions) paths")
  }

  private static func fill(_ store: Store) throws {
    try store.write { tx in
      for index in 1...size {
        let record = WorkloadPerson(index: index, size: size)
        var person = Person(record)
        var memberwise = MemberwisePerson(record)
        try tx.insert(&person)
        try tx.insert(&memberwise)
      }
    }
  }

  private static func person(_ index: Int) -> Person {
    Person(WorkloadPerson(index: index, size: size))
  }

  /// Ids of records that are there; other ones in each pass of each path.
  private static func ids(_ count: Int, _ pass: Int, stream: UInt64) -> [RecordID<Person>] {
    var stream = RandomStream(operation: stream)
    let all = stream.distinct(2 * count, upTo: size)
    return all[(pass * count)..<((pass + 1) * count)].map { RecordID($0) }
  }

  /// A path must have done what it says, or its count is of something else.
  private static func expect(_ condition: Bool, _ name: String) throws {
    guard condition else { throw FigureError("\(name) did not find what it should") }
  }

  static let all: [CountedPath] = reads + writes + observedWrites
}

// MARK: The paths

extension CountedPath {
  private static let reads: [CountedPath] = [
    CountedPath(name: "find", operations: 2_000) { store, pass in
      let ids = ids(2_000, pass, stream: 101)
      return {
        try store.read { tx in
          for id in ids { try expect(try tx.find(Person.self, id)?.id == id, "find") }
        }
      }
    },
    CountedPath(name: "find, own read", operations: 2_000) { store, pass in
      let ids = ids(2_000, pass, stream: 102)
      return {
        for id in ids { try expect(try store.find(Person.self, id)?.id == id, "find, own read") }
      }
    },
    CountedPath(name: "find by unique", operations: 1_000) { store, pass in
      let people = (1...1_000).map { person(pass * 1_000 + $0) }
      return {
        for person in people {
          let found = try store.find(Person.self, by: \.email, equals: person.email)
          try expect(found?.name == person.name, "find by unique")
        }
      }
    },
    CountedPath(name: "equality query", operations: 100) { store, pass in
      {
        for company in Int64(pass * 100 + 1)...Int64(pass * 100 + 100) {
          let people = try store.fetch(Person.where { $0.companyID == company })
          try expect(!people.isEmpty, "equality query")
        }
      }
    },
    CountedPath(name: "ordered, limit 20", operations: 100) { store, pass in
      let cities = Array(WorkloadPerson.cities[(pass * 100)..<(pass * 100 + 100)])
      return {
        for city in cities {
          let people = try store.fetch(
            Person.where { $0.city == city }.sorted(by: \.age).limit(20))
          try expect(!people.isEmpty, "ordered, limit 20")
        }
      }
    },
    CountedPath(name: "range query", operations: 10) { store, pass in
      {
        for age in (pass * 10)..<(pass * 10 + 10) {
          let people = try store.fetch(Person.where { $0.age >= age && $0.age <= age + 1 })
          try expect(people.count > 100, "range query")
        }
      }
    },
    CountedPath(name: "count of a range", operations: 20) { store, pass in
      {
        for age in (pass * 20)..<(pass * 20 + 20) {
          try expect(try store.count(Person.where { $0.age >= age }) > 1_000, "count of a range")
        }
      }
    },
    CountedPath(name: "each of a range", operations: 10) { store, pass in
      {
        for age in (pass * 10)..<(pass * 10 + 10) {
          var count = 0
          try store.forEach(Person.where { $0.age >= age && $0.age <= age + 1 }) { _ in count += 1 }
          try expect(count > 100, "each of a range")
        }
      }
    },
    CountedPath(name: "ids of a range", operations: 10) { store, pass in
      {
        for age in (pass * 10)..<(pass * 10 + 10) {
          let ids = try store.ids(Person.where { $0.age >= age && $0.age <= age + 1 })
          try expect(ids.count > 100, "ids of a range")
        }
      }
    },
    CountedPath(name: "one field of a range", operations: 10) { store, pass in
      {
        for age in (pass * 10)..<(pass * 10 + 10) {
          let names = try store.fetch(
            Person.where { $0.age >= age && $0.age <= age + 1 }.select(\.name))
          try expect(names.count > 100, "one field of a range")
        }
      }
    },
    CountedPath(name: "three fields of a range", operations: 10) { store, pass in
      {
        for age in (pass * 10)..<(pass * 10 + 10) {
          let rows = try store.fetch(
            Person.where { $0.age >= age && $0.age <= age + 1 }.select(\.name, \.age, \.city))
          try expect(rows.count > 100, "three fields of a range")
        }
      }
    },
    CountedPath(name: "sum of a range", operations: 10) { store, pass in
      {
        for age in (pass * 10)..<(pass * 10 + 10) {
          let sum = try store.sum(\.age, of: Person.where { $0.age >= age && $0.age <= age + 1 })
          try expect(sum >= 100, "sum of a range")
        }
      }
    },
    CountedPath(name: "unindexed filter", operations: size) { store, _ in
      {
        let people = try store.fetch(Person.where { $0.score > 0.99 })
        try expect(people.count > 10, "unindexed filter")
      }
    },
    CountedPath(name: "decode", operations: size) { store, _ in
      {
        var count = 0
        try store.read { tx in
          for person in try tx.all(Person.self) where person.age >= 0 { count += 1 }
        }
        try expect(count == size, "decode")
      }
    },
    CountedPath(name: "decode memberwise", operations: size) { store, _ in
      {
        var count = 0
        try store.read { tx in
          for person in try tx.all(MemberwisePerson.self) where person.age >= 0 { count += 1 }
        }
        try expect(count == size, "decode memberwise")
      }
    },
  ]

  private static let writes: [CountedPath] = [
    CountedPath(name: "save one", operations: 100) { store, pass in
      let people = (1...100).map { person(size + pass * 100 + $0) }
      return {
        for person in people {
          var person = person
          try store.write { tx in try tx.save(&person) }
        }
      }
    },
    CountedPath(name: "save many", operations: 2_000) { store, pass in
      let people = (1...2_000).map { person(2 * size + pass * 2_000 + $0) }
      return {
        try store.write { tx in
          for person in people {
            var person = person
            try tx.save(&person)
          }
        }
      }
    },
    CountedPath(name: "update indexed", operations: 1_000) { store, pass in
      let ids = ids(1_000, pass, stream: 204)
      return {
        try store.write { tx in
          for id in ids {
            guard var person = try tx.find(Person.self, id) else {
              throw FigureError("update indexed did not find what it should")
            }
            person.age = (person.age + 1) % 100
            try tx.save(&person)
          }
        }
      }
    },
    CountedPath(name: "delete", operations: 1_000) { store, pass in
      let ids = ids(1_000, pass, stream: 205)
      return {
        try store.write { tx in
          for id in ids { try expect(try tx.delete(Person.self, id), "delete") }
        }
      }
    },
  ]
  /// Beside observers of rows that the writes do not change. Counted is what the writer does.
  private static let observedWrites: [CountedPath] = [
    CountedPath(name: "save one, 100 observers", operations: 100) { store, pass in
      let people = (1...100).map { person(3 * size + pass * 100 + $0) }
      let tokens = observers(100, store)
      return {
        try withExtendedLifetime(tokens) {
          for person in people {
            var person = person
            try store.write { tx in try tx.save(&person) }
          }
        }
      }
    },
    CountedPath(name: "save many, 10,000 observers", operations: 2_000) { store, pass in
      let people = (1...2_000).map { person(4 * size + pass * 2_000 + $0) }
      let tokens = observers(10_000, store)
      return {
        try withExtendedLifetime(tokens) {
          try store.write { tx in
            for person in people {
              var person = person
              try tx.save(&person)
            }
          }
        }
      }
    },
  ]

  /// Observers that have had their first value.
  private static func observers(_ count: Int, _ store: Store) -> [ObservationToken] {
    let begun = DispatchSemaphore(value: 0)
    let tokens = (1...count).map { number in
      store.observe(Person.where { $0.companyID == -Int64(number) }) { _ in begun.signal() }
    }
    for _ in tokens { begun.wait() }
    return tokens
  }
}
