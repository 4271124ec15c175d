package import Larch

/// Why a call to the server did not give what it should.
package struct PostgresFailure: Error, CustomStringConvertible {
  package enum Kind: Sendable, Equatable {
    /// The server answered with an error: its SQLSTATE.
    case server(String)
    /// The connection could not be made, or ended.
    case connection
    /// The server wants a password, and libpq has found none.
    case noPassword
    /// The name, the password, the certificate, or the encryption is refused.
    case refused
    /// The server acknowledges commits before they are on its disk.
    case acknowledgesEarly
    /// The server did not answer in time.
    case timeout
    /// The log was closed by the program.
    case closed
    /// The answer has another form than the tables of Larch.
    case form
  }

  package let kind: Kind
  /// What libpq or the server said, without any password.
  package let text: String

  package init(_ kind: Kind, _ text: String = "") {
    self.kind = kind
    self.text = text
  }

  /// Short, since the error that names it as its cause has the text.
  package var description: String { state.map { "PostgreSQL " + $0 } ?? "PostgreSQL" }

  /// The SQLSTATE of the server's answer, if there was one.
  package var state: String? {
    if case .server(let state) = kind { return state }
    return nil
  }

  /// Whether the connection is of no use any more.
  var endsConnection: Bool {
    switch kind {
    // A class of errors after which the server closes the connection.
    case .server(let state): state.hasPrefix("08") || isLost || takesNoWrites
    // What the server says next may belong to something that was not asked for, such as a copy.
    default: true
    }
  }

  /// Whether the connection, or its server, has gone.
  var isLost: Bool {
    guard let state else { return kind == .connection }
    // The server ended a session that kept its transaction for too long.
    return state.hasPrefix("57P") || ["25P03", "25P04"].contains(state)
  }

  /// Whether the server has become one that takes no writes: another one of the address may take them.
  var takesNoWrites: Bool { state == "25006" }

  /// Whether the server answered that it has undone the statement with its transaction: it found an error
  /// before the commit. A server that shuts down or has trouble with its files may answer after the commit.
  var isRefusal: Bool {
    guard let state else { return false }
    return state == "57014"
      || ["0A", "22", "23", "25", "28", "3D", "3F", "40", "42", "53", "54", "55"]
        .contains(state.prefix(2)) && state != "40003"
  }

  /// Whether the server said that the tables, or their schema, do not exist.
  var isMissingTable: Bool { state == "42P01" || state == "3F000" }

  /// The error for the program.
  ///
  /// - Parameters:
  ///   - log: where the log is.
  ///   - hadNoEffect: whether the call certainly changed nothing; nil if it is one attempt, of which the
  ///     server's answer tells.
  package func error(of log: String, hadNoEffect: Bool? = nil) -> LarchError {
    let hadNoEffect = hadNoEffect ?? isRefusal
    func error(_ code: LarchError.Code, _ message: StaticString) -> LarchError {
      let cause: any Error = hadNoEffect ? CallHadNoEffect(cause: self) : self
      return LarchError(code, message, underlying: cause) { context in
        context.path = log
        let parts = [state, text.isEmpty ? nil : text].compactMap { $0 }
        context.detail = parts.isEmpty ? nil : parts.joined(separator: " ")
      }
    }
    switch kind {
    case .connection:
      return error(
        .unavailable,
        "The PostgreSQL server cannot be reached. Check the address, start the server, or try again later."
      )
    case .timeout:
      return error(
        .unavailable,
        hadNoEffect
          ? "The PostgreSQL server did not answer in time. Try again later."
          : "The PostgreSQL server did not answer in time. Whether it did what it was asked is unknown; the same call again tells."
      )
    case .closed: return error(.closed, "The log was closed.")
    case .noPassword:
      return error(
        .serverRefused,
        "The PostgreSQL server wants a password, and none was found. Put it into PGPASSWORD, a pass file (~/.pgpass) or a service file."
      )
    case .refused:
      return error(
        .serverRefused,
        "The PostgreSQL server and the program do not trust each other. Check the user, the password and the certificates; the detail says what failed."
      )
    case .acknowledgesEarly:
      return error(
        .serverRefused,
        "The PostgreSQL server acknowledges commits before they are on its disk: synchronous_commit is off for this user or database. Set it: ALTER ROLE … SET synchronous_commit = on."
      )
    case .form: return error(.damagedLog, Self.foreign)
    case .server(let state): return self.error(of: state, error)
    }
  }

  private func error(
    of state: String, _ error: (LarchError.Code, StaticString) -> LarchError
  ) -> LarchError {
    switch state {
    case "42P01", "3F000":
      return error(
        .serverRefused,
        "The tables of Larch are missing on the PostgreSQL server. Make them as a user who may create a schema: `larch server init URL --role USER`, or ServerLog.preparePostgres."
      )
    case "42501":
      return error(
        .serverRefused,
        "The user of the PostgreSQL server lacks the right to do this. To write a log, let the owner of its tables run `larch server init URL --role USER`; to read one, the same with --read-only. To make tables, a user needs CREATE on the database."
      )
    case "3D000":
      return error(
        .serverRefused,
        "The PostgreSQL server has no database of this name. Check the address, or make it: CREATE DATABASE …."
      )
    case "28P01", "28000":
      return error(
        .serverRefused,
        "The PostgreSQL server does not let this user in. Check the user and the password, and the server's pg_hba.conf; the detail says what failed."
      )
    case "42939", "42602":
      return error(
        .serverRefused,
        "PostgreSQL does not allow this name of a schema; choose another one, which does not begin with pg_."
      )
    case "42704":
      return error(
        .serverRefused,
        "The PostgreSQL server has no such user. Make the user first: CREATE ROLE … LOGIN."
      )
    case "53100":
      return error(
        .unavailable, "The disk of the PostgreSQL server is full. Make room there, then try again.")
    case "25006":
      return error(
        .unavailable,
        "The PostgreSQL server takes no writes now: it is a standby, or is set to read only. Name the server that takes writes, or all of them."
      )
    case "XX001", "XX002":
      return error(
        .damagedLog,
        "PostgreSQL reports that its own files are damaged. Restore them from a backup.")
    case "23505", "23502", "23514":
      return error(
        .damagedLog,
        "The rows of the log contradict each other, or the tables are those of another program. Restore them, or begin the log again under another name."
      )
    default: break
    }
    switch state.prefix(2) {
    // The name, the password, the database, or the number of connections of a role.
    case "28", "3D": return error(.serverRefused, "The PostgreSQL server refuses the connection.")
    case "08", "40", "53", "55", "57", "58", "XX":
      return error(.unavailable, "The PostgreSQL server cannot do this now. Try again later.")
    // Names, types and constraints that are not those of our tables; values that these cannot have.
    case "22", "23", "42", "0A": return error(.damagedLog, Self.foreign)
    default:
      return error(.serverRefused, "The PostgreSQL server refuses the operation.")
    }
  }

  private static let foreign: StaticString =
    "What the PostgreSQL server sent is no part of a log of Larch. Another program uses tables of these names, or changed them; name another schema, or restore the tables."
}

extension LarchError {
  /// Whether another transaction was in the way, and the same statement may succeed now.
  var isConflict: Bool { serverState == "40001" || serverState == "40P01" }

  /// The SQLSTATE that the server answered with, if the error is of that.
  var serverState: String? {
    let cause = (underlying as? CallHadNoEffect)?.cause ?? underlying
    return (cause as? PostgresFailure)?.state
  }
}
