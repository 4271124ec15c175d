import LarchTestSupport

@testable import Larch

/// Companies, people and notes whose hooks keep counts, delete siblings, and move records.
enum Ledger {
  /// Makes the hook throw that is called after a number of others.
  final class Bomb: @unchecked Sendable {
    @TaskLocal static var current: Bomb?
    var countdown: Int
    var hooks = 0
    init(_ countdown: Int) { self.countdown = countdown }

    static func tick() throws {
      guard let bomb = current else { return }
      bomb.hooks += 1
      bomb.countdown -= 1
      if bomb.countdown == 0 { throw Refused() }
    }
  }

  struct Company: Record, Hashable {
    var id = RecordID<Company>()
    var name = 0
    var peopleCount = 0

    static let schema = Schema<Company> {
      HasMany(\Person.company, onDelete: .destroy)
      HasMany(\Visit.company, onDelete: .nullify)
      WillSave { try $0.willSave(in: $1) }
      WillDelete { try $0.willDelete(in: $1) }
      DidDelete { try $0.didDelete(in: $1) }
    }

    mutating func willSave(in tx: WriteTransaction) throws {
      try Bomb.tick()
      peopleCount = try tx.count(related(\Person.company))
    }
    func willDelete(in tx: WriteTransaction) throws { try Bomb.tick() }
    func didDelete(in tx: WriteTransaction) throws { try Bomb.tick() }

    static func recount(_ id: RecordID<Company>?, _ tx: WriteTransaction) throws {
      guard let id, let company = try tx.find(Company.self, id) else { return }
      try tx.update(company)
    }
  }

  struct Person: Record, Hashable {
    var id = RecordID<Person>()
    var name = 0
    var company: RecordID<Company>?
    var noteCount = 0
    /// Its notes stay when it is deleted.
    var givesNotesAway = false

    static let clubs = ManyToMany<Person, Club>(named: "members")

    static let schema = Schema<Person> {
      Index(\.noteCount)
      BelongsTo(\.company, to: Company.self)
      HasMany(\Note.person, onDelete: .destroy)
      HasMany(\Contract.person, onDelete: .deny)
      ManyToMany(Club.self, named: "members")
      WillSave { try $0.willSave(in: $1) }
      DidInsert { try $0.didInsert(in: $1) }
      DidUpdate { try $0.didUpdate(from: $1, in: $2) }
      WillDelete { try $0.willDelete(in: $1) }
      DidDelete { try $0.didDelete(in: $1) }
    }

    mutating func willSave(in tx: WriteTransaction) throws {
      try Bomb.tick()
      noteCount = try tx.count(related(\Note.person))
    }
    func didInsert(in tx: WriteTransaction) throws {
      try Bomb.tick()
      try Company.recount(company, tx)
    }
    func didUpdate(from previous: Person, in tx: WriteTransaction) throws {
      try Bomb.tick()
      try Company.recount(previous.company, tx)
      try Company.recount(company, tx)
    }
    func willDelete(in tx: WriteTransaction) throws {
      try Bomb.tick()
      guard givesNotesAway else { return }
      try tx.update(Note.where { $0.person == id }) { $0.person = nil }
    }
    func didDelete(in tx: WriteTransaction) throws {
      try Bomb.tick()
      try Company.recount(company, tx)
    }

    static func recount(_ id: RecordID<Person>?, _ tx: WriteTransaction) throws {
      guard let id, let person = try tx.find(Person.self, id) else { return }
      try tx.update(person)
      try Company.recount(person.company, tx)
    }
  }

  struct Note: Record, Hashable {
    var id = RecordID<Note>()
    var text = 0
    var person: RecordID<Person>?
    /// The note of the same person before it goes with it.
    var takesSibling = false

    static let schema = Schema<Note> {
      BelongsTo(\.person, to: Person.self)
      DidInsert { try $0.didInsert(in: $1) }
      DidUpdate { try $0.didUpdate(from: $1, in: $2) }
      WillDelete { try $0.willDelete(in: $1) }
      DidDelete { try $0.didDelete(in: $1) }
    }

    func didInsert(in tx: WriteTransaction) throws {
      try Bomb.tick()
      try Person.recount(person, tx)
    }
    func didUpdate(from previous: Note, in tx: WriteTransaction) throws {
      try Bomb.tick()
      try Person.recount(previous.person, tx)
      try Person.recount(person, tx)
    }
    func willDelete(in tx: WriteTransaction) throws {
      try Bomb.tick()
      guard takesSibling, let person else { return }
      let before = Note.where { $0.person == person && $0.id < id }.sorted(by: \.id, .descending)
      if let sibling = try tx.first(before) { try tx.delete(sibling) }
    }
    func didDelete(in tx: WriteTransaction) throws {
      try Bomb.tick()
      try Person.recount(person, tx)
    }
  }

  /// Loses its company, and counts its changes.
  struct Visit: Record, Hashable {
    var id = RecordID<Visit>()
    var company: RecordID<Company>?
    var changes = 0

    static let schema = Schema<Visit> {
      BelongsTo(\.company, to: Company.self)
      WillUpdate { try $0.willUpdate(from: $1, in: $2) }
      DidSave { try $0.didSave(in: $1) }
    }

    mutating func willUpdate(from stored: Visit, in tx: WriteTransaction) throws {
      try Bomb.tick()
      changes += 1
    }
    func didSave(in tx: WriteTransaction) throws { try Bomb.tick() }
  }

  struct Contract: Record, Hashable {
    var id = RecordID<Contract>()
    var person: RecordID<Person>?
    static let schema = Schema<Contract> { BelongsTo(\.person, to: Person.self) }
  }

  struct Club: Record, Hashable {
    var id = RecordID<Club>()
    static let schema = Schema<Club> { ManyToMany(Person.self, named: "members") }
  }

  static func store() throws -> Store {
    try Store.temporary(
      for: Company.self, Person.self, Note.self, Visit.self, Contract.self, Club.self)
  }
}

/// The same in memory, by plain loops.
struct LedgerModel: Equatable {
  typealias Company = Ledger.Company
  typealias Person = Ledger.Person
  typealias Note = Ledger.Note
  typealias Visit = Ledger.Visit

  struct Link: Hashable {
    let person: RecordID<Person>
    let club: RecordID<Ledger.Club>
  }

  var companies: [RecordID<Company>: Company] = [:]
  var people: [RecordID<Person>: Person] = [:]
  var notes: [RecordID<Note>: Note] = [:]
  var visits: [RecordID<Visit>: Visit] = [:]
  var contracts: [RecordID<Ledger.Contract>: Ledger.Contract] = [:]
  var clubs: [RecordID<Ledger.Club>: Ledger.Club] = [:]
  var links: Set<Link> = []

  init() {}

  /// What a store holds.
  init(_ tx: ReadTransaction) throws {
    func all<R: Record>(_ type: R.Type) throws -> [R.ID: R] where R.ID: Hashable {
      Dictionary(uniqueKeysWithValues: try tx.fetch(R.all).map { ($0.id, $0) })
    }
    companies = try all(Company.self)
    people = try all(Person.self)
    notes = try all(Note.self)
    visits = try all(Visit.self)
    contracts = try all(Ledger.Contract.self)
    clubs = try all(Ledger.Club.self)
    for person in people.values {
      for club in try tx.ids(person.related(Person.clubs)) {
        links.insert(Link(person: person.id, club: club))
      }
    }
  }

  // MARK: Saves

  private mutating func recount(company id: RecordID<Company>?) {
    guard let id else { return }
    companies[id]?.peopleCount = people.values.count { $0.company == id }
  }

  private mutating func recount(person id: RecordID<Person>?) {
    guard let id, let person = people[id] else { return }
    save(person)
    recount(company: person.company)
  }

  mutating func save(_ company: Company) {
    companies[company.id] = company
    recount(company: company.id)
  }

  mutating func save(_ person: Person) {
    var person = person
    person.noteCount = notes.values.count { $0.person == person.id }
    let old = people[person.id]
    if old == person { return }
    people[person.id] = person
    recount(company: old?.company)
    recount(company: person.company)
  }

  mutating func save(_ note: Note) {
    let old = notes[note.id]
    if old == note { return }
    notes[note.id] = note
    recount(person: old?.person)
    recount(person: note.person)
  }

  mutating func save(_ visit: Visit) {
    var visit = visit
    if let old = visits[visit.id] {
      if old == visit { return }
      visit.changes += 1
    }
    visits[visit.id] = visit
  }

  // MARK: Deletions

  enum Erased { case companies, people, notes }

  /// False if a contract denies it; then nothing is changed.
  mutating func delete(
    companies gone: Set<RecordID<Company>> = [], people asked: Set<RecordID<Person>> = [],
    notes askedNotes: Set<RecordID<Note>> = [], erasing erased: Erased? = nil
  ) -> Bool {
    let gone = gone.intersection(companies.keys)
    let goingPeople = people.values.filter {
      asked.contains($0.id) || $0.company.map(gone.contains) ?? false
    }
    let peopleIDs = Set(goingPeople.map(\.id))
    if contracts.values.contains(where: { $0.person.map(peopleIDs.contains) ?? false }) {
      return false
    }
    var goingNotes = askedNotes.intersection(notes.keys)
    for note in notes.values {
      guard let id = note.person, peopleIDs.contains(id), let person = people[id] else { continue }
      if erased != .people, person.givesNotesAway { continue }
      goingNotes.insert(note.id)
    }
    if erased != .notes { addSiblings(to: &goingNotes) }
    for id in gone { companies[id] = nil }
    let affected = goingNotes.compactMap { notes[$0]?.person }
    for id in goingNotes { notes[id] = nil }
    for id in peopleIDs { people[id] = nil }
    for (id, note) in notes where note.person.map(peopleIDs.contains) ?? false {
      notes[id]?.person = nil
    }
    if erased != .notes { for id in affected { recount(person: id) } }
    if erased != .people { for person in goingPeople { recount(company: person.company) } }
    for visit in visits.values where visit.company.map(gone.contains) ?? false {
      var visit = visit
      visit.company = nil
      save(visit)
    }
    links = links.filter { !peopleIDs.contains($0.person) }
    return true
  }

  private func addSiblings(to going: inout Set<RecordID<Note>>) {
    var open = Array(going)
    while let id = open.popLast() {
      guard let note = notes[id], note.takesSibling, let person = note.person else { continue }
      let before = notes.values.filter { $0.person == person && $0.id < id }
      if let sibling = before.map(\.id).max(), going.insert(sibling).inserted {
        open.append(sibling)
      }
    }
  }
}
