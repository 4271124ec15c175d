import CEngines
import Workload

/// Documents through LMDB's C API with nothing on top.
final class RawLMDBDocuments: ShapeStore {
  static let peer = "lmdb"

  private let store: OpaquePointer

  init(path: String) throws {
    var opened: OpaquePointer?
    try RawLMDBEngine.check(bench_documents_open(path, &opened))
    guard let opened else { throw BenchmarkError("lmdb: open gave no store") }
    store = opened
  }

  func close() { bench_documents_close(store) }
  func scan() throws -> QueryResult { try run { bench_documents_scan($0, false, $1) }() }
  func fingerprint() throws -> QueryResult { try run { bench_documents_scan($0, true, $1) }() }

  func prepare(_ step: DocumentStep) throws -> () throws -> QueryResult {
    switch step {
    case .insert(let documents):
      return run(documents) { bench_documents_insert($0, $1, $2, $3) }
    case .insertEach(let documents):
      return run(documents) { store, documents, count, result in
        for index in 0..<count {
          let code = bench_documents_insert(store, documents + index, 1, result)
          if code != 0 { return code }
        }
        return 0
      }
    case .find(let ids): return run(ids) { bench_documents_find($0, $1, $2, $3) }
    case .page(let ids, let limit):
      return run(ids) { bench_documents_page($0, $1, $2, limit, $3) }
    case .range(let prefixes): return run(prefixes, of: BENCH_RECORDS)
    case .idsOfPrefix(let prefixes): return run(prefixes, of: BENCH_IDS)
    case .countOfPrefix(let prefixes): return run(prefixes, of: BENCH_COUNT)
    case .countsByArea: return run { bench_documents_areas($0, $1) }
    case .sum(let areas): return run(areas) { bench_documents_sum($0, $1, $2, $3) }
    case .update(let changes):
      let documents = changes.map { WorkloadDocument(id: $0.id, body: $0.body) }
      return run(documents) { bench_documents_update($0, $1, $2, $3) }
    case .delete(let ids): return run(ids) { bench_documents_delete($0, $1, $2, $3) }
    }
  }

  private typealias Result = UnsafeMutablePointer<bench_result>

  private func run(
    _ body: @escaping (OpaquePointer, Result) -> Int32
  ) -> () throws -> QueryResult {
    { [store] in
      var result = bench_result()
      try RawLMDBEngine.check(body(store, &result))
      return QueryResult(rows: result.rows, checksum: result.checksum)
    }
  }

  private func run(
    _ documents: [WorkloadDocument],
    _ body: @escaping (OpaquePointer, UnsafePointer<bench_document>, Int, Result) -> Int32
  ) -> () throws -> QueryResult {
    let texts = NativeBytes()
    let natives = documents.map { document in
      bench_document(
        id: texts.keep(document.id), area: texts.keep(document.area),
        title: texts.keep(document.title), body: texts.keep(document.body),
        revision: Int64(document.revision))
    }
    return run { store, result in
      withExtendedLifetime(texts) { body(store, natives, natives.count, result) }
    }
  }

  private func run(
    _ strings: [String],
    _ body: @escaping (OpaquePointer, UnsafePointer<bench_text>, Int, Result) -> Int32
  ) -> () throws -> QueryResult {
    let texts = NativeBytes()
    let natives = strings.map(texts.keep)
    return run { store, result in
      withExtendedLifetime(texts) { body(store, natives, natives.count, result) }
    }
  }

  private func run(_ prefixes: [String], of wanted: Int) -> () throws -> QueryResult {
    run(prefixes) { bench_documents_prefix($0, $1, $2, Int32(wanted), $3) }
  }
}
