// One of several servers that sell the tickets of one concert. Each has a copy of the store on its own disk;
// PostgreSQL has the order of their commits.
//
//   TicketShop postgres://… north.larch north      sells until nothing is left
//   TicketShop postgres://… report.larch           says what was sold by whom
//
// Start as many as you like, on as many machines; `Scripts/postgres.sh` of this repository makes a server to
// try it with.
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

let arguments = CommandLine.arguments.dropFirst()
guard let address = arguments.first, let copy = arguments.dropFirst().first else {
  fatalError("usage: TicketShop URL COPY [SERVER]")
}
let shop = try Store(
  sharing: .postgres(address, store: "tickets"), copy: copy, for: Concert.self, Ticket.self)

/// The concert. Of several servers that find none, one makes it: the name is unique.
func concert() async throws -> RecordID<Concert> {
  try await shop.write { tx in
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
  try await shop.write { tx in
    guard var concert = try tx.find(Concert.self, id), concert.free > 0 else { return nil }
    var ticket = Ticket(concertID: id, seat: concert.free, soldBy: server)
    concert.free -= 1
    try tx.save(&concert)
    try tx.save(&ticket)
    return ticket.seat
  }
}

/// What was sold by any server before now.
func report() async throws -> String {
  try await shop.read(.fresh) { tx in
    let concert = try tx.first(Concert.all)
    let tickets = try tx.fetch(Ticket.all)
    let seats = Set(tickets.map(\.seat))
    let servers = Set(tickets.map(\.soldBy))
    return "\(tickets.count) tickets, \(seats.count) seats, \(concert?.free ?? -1) free, "
      + "\(servers.count) servers"
  }
}

if let server = arguments.dropFirst(2).first {
  let id = try await concert()
  var sold = 0
  while try await sell(id, by: server) != nil {
    sold += 1
    // Serving a buyer takes a while.
    try await Task.sleep(for: .milliseconds(5))
  }
  print("\(server): sold out, \(sold) of them here")
} else {
  print(try await report())
}
shop.close()
