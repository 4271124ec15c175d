internal import Foundation
internal import Larch

/// The functions of libpq, PostgreSQL's own client library, found at run time.
///
/// So nobody needs its header to build Larch, and a program that uses no server does not load it. Only
/// functions whose form has been the same for many years are named: see docs/decisions/0023.
///
/// Unchecked, since it is a table of addresses that is never changed.
struct LibPQ: @unchecked Sendable {
  typealias Connection = OpaquePointer
  typealias Result = OpaquePointer
  typealias Text = UnsafePointer<CChar>
  typealias Texts = UnsafePointer<Text?>

  /// The structure of the same name in C: seven words, of which the last is a number with padding.
  struct ConnectionOption {
    let keyword: Text?
    let environment: Text?
    let compiled: Text?
    let value: Text?
    let label: Text?
    let display: Text?
    let size: CInt
  }
  /// The first of several; C types of Swift cannot be named in the type of a C function.
  typealias ConnectionOptions = UnsafeMutableRawPointer

  let libVersion: @convention(c) () -> CInt
  let conninfoParse:
    @convention(c) (Text, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) ->
      ConnectionOptions?
  let conninfo: @convention(c) (Connection) -> ConnectionOptions?
  let conninfoFree: @convention(c) (ConnectionOptions?) -> Void
  let connectStartParams: @convention(c) (Texts, Texts, CInt) -> Connection?
  let connectPoll: @convention(c) (Connection) -> CInt
  let finish: @convention(c) (Connection) -> Void
  let status: @convention(c) (Connection) -> CInt
  let socket: @convention(c) (Connection) -> CInt
  let serverVersion: @convention(c) (Connection) -> CInt
  let backendPID: @convention(c) (Connection) -> CInt
  let sslInUse: @convention(c) (Connection) -> CInt
  private let sslStruct: @convention(c) (Connection, Text) -> UnsafeMutableRawPointer?
  /// A function of OpenSSL, which libpq has loaded; nil if it uses another library, or keeps it to itself.
  private let sslPending: (@convention(c) (UnsafeMutableRawPointer) -> CInt)?
  let errorMessage: @convention(c) (Connection) -> Text?
  let pass: @convention(c) (Connection) -> Text?
  let needsPassword: @convention(c) (Connection) -> CInt
  let setErrorVerbosity: @convention(c) (Connection, CInt) -> CInt
  let setNoticeProcessor:
    @convention(c) (
      Connection, @convention(c) (UnsafeMutableRawPointer?, Text?) -> Void,
      UnsafeMutableRawPointer?
    ) -> UnsafeRawPointer?
  let setNonBlocking: @convention(c) (Connection, CInt) -> CInt
  let sendQuery: @convention(c) (Connection, Text) -> CInt
  let sendQueryParams:
    @convention(c) (
      Connection, Text, CInt, UnsafePointer<UInt32>?, Texts?, UnsafePointer<CInt>?,
      UnsafePointer<CInt>?, CInt
    ) -> CInt
  let sendPrepare: @convention(c) (Connection, Text, Text, CInt, UnsafePointer<UInt32>?) -> CInt
  let sendQueryPrepared:
    @convention(c) (
      Connection, Text, CInt, Texts?, UnsafePointer<CInt>?, UnsafePointer<CInt>?, CInt
    ) -> CInt
  let flush: @convention(c) (Connection) -> CInt
  let consumeInput: @convention(c) (Connection) -> CInt
  let isBusy: @convention(c) (Connection) -> CInt
  let getResult: @convention(c) (Connection) -> Result?
  let putCopyData: @convention(c) (Connection, UnsafePointer<CChar>, CInt) -> CInt
  let putCopyEnd: @convention(c) (Connection, Text?) -> CInt
  let getCopyData:
    @convention(c) (
      Connection, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>, CInt
    ) -> CInt
  let freeMemory: @convention(c) (UnsafeMutableRawPointer?) -> Void
  let resultStatus: @convention(c) (Result) -> CInt
  let resultErrorField: @convention(c) (Result, CInt) -> Text?
  let clear: @convention(c) (Result) -> Void
  let rowCount: @convention(c) (Result) -> CInt
  let columnCount: @convention(c) (Result) -> CInt
  let columnType: @convention(c) (Result, CInt) -> UInt32
  let value: @convention(c) (Result, CInt, CInt) -> UnsafeMutablePointer<CChar>?
  let length: @convention(c) (Result, CInt, CInt) -> CInt
  let isNull: @convention(c) (Result, CInt, CInt) -> CInt
  let affectedRows: @convention(c) (Result) -> Text?
  let commandStatus: @convention(c) (Result) -> Text?
}

extension LibPQ {
  /// Numbers of libpq, which are part of its binary interface.
  enum Status {
    static let ok: CInt = 0
    static let bad: CInt = 1
    static let tlsStartup: CInt = 6
  }
  enum Polling {
    static let failed: CInt = 0
    static let reading: CInt = 1
    static let writing: CInt = 2
    static let ok: CInt = 3
  }
  enum ResultStatus {
    static let command: CInt = 1
    static let tuples: CInt = 2
    static let copyOut: CInt = 3
    static let copyIn: CInt = 4
    static let copyBoth: CInt = 8
    /// libpq gives such a result again and again, until the copy has ended.
    static let copies = [copyOut, copyIn, copyBoth]
  }
  enum Field {
    static let state = CInt(UInt8(ascii: "C"))
    static let primary = CInt(UInt8(ascii: "M"))
  }
  static let verbose: CInt = 2
}

extension LibPQ {
  /// The library of this process, loaded once.
  private static let loaded = Swift.Result<LibPQ, LarchError> { () throws(LarchError) -> LibPQ in
    let path = ProcessInfo.processInfo.environment["LARCH_LIBPQ"] ?? ""
    return try LibPQ(named: path.isEmpty ? nil : path)
  }

  /// - Throws: `LarchError` with the code `.missingLibrary`.
  static func shared() throws(LarchError) -> LibPQ { try loaded.get() }

  /// Where libpq usually is. A name without a path is found by the loader, in the system's places.
  static let usualPlaces: [String] = {
    #if canImport(Darwin)
      ["libpq.5.dylib"]
        + ["/opt/homebrew/opt", "/usr/local/opt"].flatMap { root in
          ["libpq", "postgresql", "postgresql@18", "postgresql@17", "postgresql@16"].flatMap {
            ["\(root)/\($0)/lib/libpq.5.dylib", "\(root)/\($0)/lib/postgresql/libpq.5.dylib"]
          }
        } + ["/Applications/Postgres.app/Contents/Versions/latest/lib/libpq.5.dylib"]
    #else
      ["libpq.so.5"]
    #endif
  }()

  /// Loads the library at a path, or else the first one in the usual places.
  init(named path: String?) throws(LarchError) {
    let wanted = path.map { [$0] } ?? Self.usualPlaces
    for place in wanted {
      if let library = dlopen(place, RTLD_NOW | RTLD_LOCAL) {
        try self.init(library, place)
        return
      }
    }
    if let path {
      throw LarchError(
        .missingLibrary,
        """
        The environment variable LARCH_LIBPQ names no library that can be loaded. Correct the path, or \
        remove the variable, so that the usual places are searched.
        """
      ) { $0.path = path }
    }
    throw LarchError(
      .missingLibrary,
      """
      PostgreSQL's client library was not found. Install libpq (Debian and Ubuntu: libpq5, Fedora and \
      Homebrew: libpq, Alpine: libpq), or name its file in the environment variable LARCH_LIBPQ.
      """
    ) { $0.detail = wanted[0] }
  }

  private init(_ library: UnsafeMutableRawPointer, _ path: String) throws(LarchError) {
    let loader = Loader(library: library, path: path)
    libVersion = try loader.function("PQlibVersion")
    conninfoParse = try loader.function("PQconninfoParse")
    conninfo = try loader.function("PQconninfo")
    conninfoFree = try loader.function("PQconninfoFree")
    connectStartParams = try loader.function("PQconnectStartParams")
    connectPoll = try loader.function("PQconnectPoll")
    finish = try loader.function("PQfinish")
    status = try loader.function("PQstatus")
    socket = try loader.function("PQsocket")
    serverVersion = try loader.function("PQserverVersion")
    backendPID = try loader.function("PQbackendPID")
    sslInUse = try loader.function("PQsslInUse")
    sslStruct = try loader.function("PQsslStruct")
    sslPending = loader.find("SSL_pending")
    errorMessage = try loader.function("PQerrorMessage")
    pass = try loader.function("PQpass")
    needsPassword = try loader.function("PQconnectionNeedsPassword")
    setErrorVerbosity = try loader.function("PQsetErrorVerbosity")
    setNoticeProcessor = try loader.function("PQsetNoticeProcessor")
    setNonBlocking = try loader.function("PQsetnonblocking")
    sendQuery = try loader.function("PQsendQuery")
    sendQueryParams = try loader.function("PQsendQueryParams")
    sendPrepare = try loader.function("PQsendPrepare")
    sendQueryPrepared = try loader.function("PQsendQueryPrepared")
    flush = try loader.function("PQflush")
    consumeInput = try loader.function("PQconsumeInput")
    isBusy = try loader.function("PQisBusy")
    getResult = try loader.function("PQgetResult")
    putCopyData = try loader.function("PQputCopyData")
    putCopyEnd = try loader.function("PQputCopyEnd")
    getCopyData = try loader.function("PQgetCopyData")
    freeMemory = try loader.function("PQfreemem")
    resultStatus = try loader.function("PQresultStatus")
    resultErrorField = try loader.function("PQresultErrorField")
    clear = try loader.function("PQclear")
    rowCount = try loader.function("PQntuples")
    columnCount = try loader.function("PQnfields")
    columnType = try loader.function("PQftype")
    value = try loader.function("PQgetvalue")
    length = try loader.function("PQgetlength")
    isNull = try loader.function("PQgetisnull")
    affectedRows = try loader.function("PQcmdTuples")
    commandStatus = try loader.function("PQcmdStatus")
  }

  private struct Loader {
    let library: UnsafeMutableRawPointer
    let path: String

    /// The function of a name, in libpq or in what it needs; nil if there is none.
    func find<T>(_ name: String) -> T? {
      dlsym(library, name).map { unsafeBitCast($0, to: T.self) }
    }

    /// The function of a name. The caller's type is that of libpq's documentation.
    func function<T>(_ name: String) throws(LarchError) -> T {
      guard let found: T = find(name) else {
        throw LarchError(
          .missingLibrary,
          "The client library of PostgreSQL is too old, or is another library. Install libpq 12 or newer."
        ) {
          $0.path = path
          $0.detail = name
        }
      }
      return found
    }
  }

  /// Whether a part of an encrypted record waits that libpq had no room for; nil if nobody can tell.
  func hasRest(_ connection: Connection) -> Bool? {
    guard sslInUse(connection) == 1 else { return false }
    guard let sslPending, let ssl = sslStruct(connection, "OpenSSL") else { return nil }
    return sslPending(ssl) > 0
  }

  /// The options that a list of libpq has, which is freed.
  func options(_ list: ConnectionOptions?) -> [String: String]? {
    guard let list else { return nil }
    defer { conninfoFree(list) }
    var options: [String: String] = [:]
    var next = list.assumingMemoryBound(to: ConnectionOption.self)
    while let keyword = next.pointee.keyword {
      if let value = next.pointee.value {
        options[String(cString: keyword)] = String(cString: value)
      }
      next += 1
    }
    return options
  }
}
