import Foundation

@testable import Larch

/// An observer of any type, whose values are compared as texts.
struct AnyObserver {
  let name: String
  /// The newest value, if it may be another one than the last.
  let poll: () throws -> Observed<String>?
  /// How many times it has read its value, or brought it up to date.
  let reads: () throws -> Int
  /// How many times it has brought its value up to date without a read.
  let patches: () -> Int
  /// Whether it reads only if its value is another one.
  var isExact = false
  /// The values as they come.
  let next: @Sendable () async throws -> Observed<String>?
  /// The value that it must have.
  let expected: (ReadTransaction) throws -> String

  init<Q: Request>(_ name: String, _ store: Store, _ request: Q) where Q.Row: Sendable {
    self.init(name, store.observe(request)) { try $0.fetch(request) }
  }

  /// Also compares the changes of its rows: each value must be what they make of the one before.
  init<R: Record & Equatable>(_ name: String, _ store: Store, _ request: Query<R>) {
    self.init(
      name, store.observe(request),
      changes: { try $0.changes(from: $1).check(from: $1, to: $0.rows) }
    ) { try $0.fetch(request) }
  }

  /// The same for sections.
  init<R: Record & Equatable, Section: Sendable>(
    _ name: String, _ store: Store, _ request: Sectioned<R, Section>
  ) {
    self.init(
      name, store.observe(request),
      changes: { try $0.changes(from: $1).check(from: $1, to: $0.rows) }
    ) { try $0.fetch(request) }
  }

  init<Value: Sendable>(
    _ name: String, _ store: Store,
    reading read: @escaping @Sendable (ReadTransaction) throws -> Value
  ) {
    self.init(name, store.observe(read), read)
  }

  init<R: Record>(_ name: String, _ store: Store, _ type: R.Type, _ id: R.ID) {
    self.init(name, store.observe(type, id)) { try $0.find(type, id) as R? }
  }

  private init<Value: Sendable>(
    _ name: String, _ observation: StoreObservation<Value>,
    changes check: ((_ new: Observed<Value>, _ old: Value) throws -> Void)? = nil,
    _ expected: @escaping (ReadTransaction) throws -> Value
  ) {
    let iterator = observation.makeAsyncIterator()
    var last: Value?
    self.name = name
    reads = { iterator.polled.reads + iterator.polled.patches }
    patches = { iterator.polled.patches }
    poll = {
      guard let value = try iterator.polled.poll() else { return nil }
      if let last { try check?(value, last) }
      last = value.value
      return Self.text(value)
    }
    next = { try await iterator.next().map(Self.text) }
    self.expected = { "\(try expected($0))" }
  }

  private static func text<Value>(_ observed: Observed<Value>) -> Observed<String> {
    Observed(value: "\(observed.value)", version: observed.version)
  }

  /// Observers of every kind of request, and of closures.
  static func all(_ store: Store) -> [AnyObserver] { exact(store) + others(store) }

  /// Those whose rows are all the records that pass a filter.
  private static func exact(_ store: Store) -> [AnyObserver] {
    [
      AnyObserver("all", store, Owner.all),
      AnyObserver("index", store, Owner.where { $0.city == "Oslo" }),
      AnyObserver("range", store, Owner.where { $0.city == "Rome" && $0.age > 3 }),
      AnyObserver("scan", store, Owner.where { $0.name.hasPrefix("o1") }),
      AnyObserver("closure filter", store, Owner.all.filter { $0.age % 2 == 0 }),
      AnyObserver(
        "sorted", store, Owner.where { $0.age < 7 }.sorted(by: \.name, .descending)),
      AnyObserver(
        "predicate", store, Owner.where(#Predicate<Owner> { $0.city == "Rome" && $0.age > 3 })),
      AnyObserver(
        "evaluated predicate", store, Owner.where(#Predicate<Owner> { $0.age % 3 == 1 })),
      AnyObserver("nothing", store, Owner.where { $0.age > 5 && $0.age < 3 }),
      AnyObserver("unique", store, Pet.where { $0.name == "p7" }),
      AnyObserver("id", store, Tag.where { $0.id == "t3" }),
      AnyObserver("record", store, Tag.self, "t4"),
    ].map { observer in
      var observer = observer
      observer.isExact = true
      return observer
    }
  }

  private static func others(_ store: Store) -> [AnyObserver] {
    [
      AnyObserver("window", store, Owner.all.sorted(by: \.age).limit(4)),
      AnyObserver("newest", store, Owner.all.reversed().limit(3)),
      AnyObserver(
        "index window", store,
        Owner.where { $0.city == "Oslo" }.sorted(by: \.age, .descending).limit(2)),
      AnyObserver("page", store, Owner.all.sorted(by: \.age).limit(3).offset(1)),
      AnyObserver("fields", store, Owner.where { $0.city == "Oslo" }.select(\.age)),
      AnyObserver("two fields", store, Owner.where { $0.age > 2 }.select(\.city, \.name)),
      AnyObserver("distinct", store, Owner.select(\.city).distinct()),
      AnyObserver("related filter", store, Pet.where { $0.owner.city == "Oslo" }),
      AnyObserver("related count", store, Owner.where { $0.pets.isEmpty }),
      AnyObserver("tagged", store, Pet.where { $0.tags.contains { $0.color == 1 } }),
      AnyObserver("related order", store, Pet.all.sorted(by: \.owner.name)),
      AnyObserver("with", store, Owner.where { $0.age > 3 }.with(Owner.pets)),
      AnyObserver("with links", store, Pet.all.with(Pet.tags)),
      AnyObserver(
        "with others of others", store, Owner.all.with(Owner.pets, from: Pet.all.with(Pet.tags))),
      AnyObserver(
        "family", store,
        Family<any Record>(Owner.all.sorted(by: \.name), Pet.all.sorted(by: \.name)).limit(9)),
      AnyObserver(
        "groups", store,
        Owner.where { $0.age > 2 }.grouped(by: \.city).select(.count, .max(\.age), .min(\.name))),
      AnyObserver(
        "sorted groups", store,
        Owner.all.grouped(by: \.city).select(.min(\.age)).sorted { $0.key > $1.key }.limit(2)),
      AnyObserver("left out", store, Owner.where { $0.age > 3 }.leavingOut(\.name, as: "")),
      AnyObserver(
        "join", store, Pet.where { $0.weight > 4 }.joined(with: Owner.all, on: \.ownerID)),
      AnyObserver("count", store, reading: { try $0.count(Owner.where { $0.city == "Paris" }) }),
      AnyObserver(
        "count by a scan", store, reading: { try $0.count(Owner.where { $0.name.hasPrefix("o1") }) }
      ),
      AnyObserver(
        "figures", store,
        reading: { tx in
          let old = Owner.where { $0.age > 4 }
          return [
            "\(try tx.sum(\.age, of: old))", "\(String(describing: try tx.min(\.name, of: old)))",
            "\(try tx.counts(by: \.city, of: old))",
            "\(try tx.exists(Pet.where { $0.weight == 8 }))",
            "\(try tx.ids(Owner.where { $0.city == "Rome" }).count)",
            "\(try tx.page(Owner.where { $0.city == "Oslo" }.sorted(by: \.name).limit(2)).records)",
          ]
        }),
      AnyObserver(
        "ids", store,
        reading: { tx in
          let tags = [try tx.find(Tag.self, "t1"), try tx.find(Tag.self, "t2")]
          return
            "\(tags) \(try tx.exists(Tag.self, "t3")) \(try tx.find(by: \Pet.name, equals: "p3") as Pet?)"
        }),
      AnyObserver(
        "many ids", store,
        reading: { tx in
          try (0..<80).map { "\(try tx.find(Tag.self, "t\($0 % 9)") as Tag?)" }
        }),
      AnyObserver("count all", store, reading: { try $0.count(Note.all) }),
      AnyObserver(
        "several", store,
        reading: { tx in
          let heaviest = try tx.first(Pet.all.sorted(by: \.weight, .descending))
          guard let owner = heaviest?.ownerID else { return "\(try tx.count(Tag.all))" }
          let others = try tx.fetch(Pet.where { $0.ownerID == owner })
          return "\(others) \(try tx.find(Owner.self, owner) as Owner?)"
        }),
      AnyObserver(
        "lists", store,
        reading: { tx in
          try tx.fetch(Tag.all).map { tag in try tx.count(tag.related(Tag.pets)) }
        }),
    ]
  }
}
