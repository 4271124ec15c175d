// One of several servers that sell the tickets of one concert. Each has a copy of the store on its own disk;
// PostgreSQL has the order of their commits.
//
//   TicketShop postgres://… north.larch north      sells until nothing is left
//   TicketShop postgres://… report.larch           says what was sold by whom
//
// Start as many as you like, on as many machines; the README beside `Package.swift` has the commands.
import Foundation
import Larch
import LarchPostgres

struct Concert: Record {
  var id = RecordID<Concert>()
  var name: String
  var free: Int

  static let schema = Schema<Concert> {
    Unique(\.name)
    Validate(\.free, .range(0...))
  }
}

struct Ticket: Record {
  var id = RecordID<Ticket>()
  var concertID: RecordID<Concert>
  var seat: Int
  var soldBy: String

  static let schema = Schema<Ticket> {
    Unique(\.concertID, \.seat)
    Index(\.soldBy)
  }
}

/// One server of the shop.
struct Shop {
  let store: Store

  /// The concert. Of several servers that find none, one makes it: the name is unique.
  func concert() async throws -> RecordID<Concert> {
    try await store.write { tx in
      if let known = try tx.first(Concert.where { $0.name == "Larch and friends" }) {
        return known.id
      }
      var concert = Concert(name: "Larch and friends", free: 60)
      try tx.save(&concert)
      return concert.id
    }
  }

  /// Sells the next seat; nil if there is none.
  ///
  /// If another server has sold one at this moment, the closure runs again on what it has left.
  func sell(_ id: RecordID<Concert>, by server: String) async throws -> Int? {
    try await store.write { tx in
      guard var concert = try tx.find(Concert.self, id), concert.free > 0 else { return nil }
      var ticket = Ticket(concertID: id, seat: concert.free, soldBy: server)
      concert.free -= 1
      try tx.save(&concert)
      try tx.save(&ticket)
      return ticket.seat
    }
  }

  /// Sells until nothing is left, and returns how many this server has sold.
  func sellAll(by server: String) async throws -> Int {
    // A write that changes nothing does not ask the server of the log, so an old copy could say that
    // everything is sold. A fresh read asks it, and ends with `.unavailable` where it cannot.
    try await store.read(.fresh) { _ in }
    let id = try await concert()
    var sold = 0
    while try await sell(id, by: server) != nil {
      sold += 1
      // Serving a buyer takes a while.
      try await Task.sleep(for: .milliseconds(5))
    }
    return sold
  }

  /// What was sold by any server before now.
  func report() async throws -> String {
    try await store.read(.fresh) { tx in
      guard let concert = try tx.first(Concert.all) else {
        return "no server has sold anything yet"
      }
      let tickets = try tx.fetch(Ticket.all)
      let seats = Set(tickets.map(\.seat))
      let servers = Set(tickets.map(\.soldBy))
      return "\(tickets.count) tickets, \(seats.count) seats, \(concert.free) free, "
        + "\(servers.count) servers"
    }
  }
}

/// Writes a line to standard error, and ends the program.
func fail(_ message: String) -> Never {
  FileHandle.standardError.write(Data((message + "\n").utf8))
  exit(1)
}

let arguments = Array(CommandLine.arguments.dropFirst())
guard (2...3).contains(arguments.count) else { fail("usage: TicketShop URL COPY [SERVER]") }

do {
  let store = try Store(
    sharing: .postgres(arguments[0], store: "tickets"), copy: arguments[1],
    for: Concert.self, Ticket.self)
  defer { store.close() }
  if let old = store.movedAside {
    print("the server had another store than the copy, which is kept as \(old)")
  }
  let shop = Shop(store: store)
  if arguments.count == 3 {
    let sold = try await shop.sellAll(by: arguments[2])
    print("\(arguments[2]): sold out, \(sold) of them here")
  } else {
    print(try await shop.report())
  }
} catch {
  fail("TicketShop: \(error)")
}
