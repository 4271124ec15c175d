import CEngines
import Foundation
import Workload

/// Events through LMDB's C API with nothing on top.
final class RawLMDBEvents: ShapeStore {
  static let peer = "lmdb"

  private let store: OpaquePointer

  init(path: String) throws {
    var opened: OpaquePointer?
    try RawLMDBEngine.check(bench_events_open(path, &opened))
    guard let opened else { throw BenchmarkError("lmdb: open gave no store") }
    store = opened
  }

  func close() { bench_events_close(store) }
  func scan() throws -> QueryResult { try run { bench_events_scan($0, false, $1) }() }
  func fingerprint() throws -> QueryResult { try run { bench_events_scan($0, true, $1) }() }

  func prepare(_ step: EventStep) throws -> () throws -> QueryResult {
    switch step {
    case .insert(let events):
      return run(events) { bench_events_insert($0, $1, $2, $3) }
    case .insertEach(let events):
      return run(events) { store, events, count, result in
        for index in 0..<count {
          let code = bench_events_insert(store, events + index, 1, result)
          if code != 0 { return code }
        }
        return 0
      }
    case .find(let ids):
      return run(ids.map { WorkloadEvent(id: $0) }) { bench_events_find($0, $1, $2, $3) }
    case .page(let dates, let limit):
      let spans = dates.map { EventSpan(from: $0, to: $0) }
      return run(spans) { bench_events_page($0, $1, $2, limit, $3) }
    case .pageOfKind(let spans, let limit):
      return run(spans) { bench_events_page($0, $1, $2, limit, $3) }
    case .range(let spans): return run(spans) { bench_events_range($0, $1, $2, $3) }
    case .count(let spans): return run(spans) { bench_events_count($0, $1, $2, $3) }
    case .sum(let spans): return run(spans) { bench_events_sum($0, $1, $2, $3) }
    case .countsByKind: return run { bench_events_kinds($0, true, $1) }
    case .distinctKinds: return run { bench_events_kinds($0, false, $1) }
    case .countsByDevice: return run { bench_events_devices($0, $1) }
    case .update(let changes):
      let events = changes.map { WorkloadEvent(id: $0.id, kind: $0.kind) }
      return run(events) { bench_events_update($0, $1, $2, $3) }
    case .delete(let ids):
      return run(ids.map { WorkloadEvent(id: $0) }) { bench_events_delete($0, $1, $2, $3) }
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
    _ events: [WorkloadEvent],
    _ body: @escaping (OpaquePointer, UnsafePointer<bench_event>, Int, Result) -> Int32
  ) -> () throws -> QueryResult {
    let texts = NativeBytes()
    let natives = events.map { event in
      var native = bench_event()
      native.at = event.at
      native.amount = Int64(event.amount)
      withUnsafeMutableBytes(of: &native.id) { target in
        withUnsafeBytes(of: event.id.uuid) { target.copyMemory(from: $0) }
      }
      let (kind, device) = (texts.keep(event.kind), texts.keep(event.device))
      (native.kind, native.kind_length) = (kind.bytes, kind.length)
      (native.device, native.device_length) = (device.bytes, device.length)
      if let note = event.note.map(texts.keep) {
        (native.note, native.note_length) = (note.bytes, note.length)
      }
      return native
    }
    return run { store, result in
      withExtendedLifetime(texts) { body(store, natives, natives.count, result) }
    }
  }

  private func run(
    _ spans: [EventSpan],
    _ body: @escaping (OpaquePointer, UnsafePointer<bench_span>, Int, Result) -> Int32
  ) -> () throws -> QueryResult {
    let texts = NativeBytes()
    let natives = spans.map { bench_span(kind: texts.keep($0.kind), from: $0.from, to: $0.to) }
    return run { store, result in
      withExtendedLifetime(texts) { body(store, natives, natives.count, result) }
    }
  }
}

/// Texts in the form that C takes, for as long as this lives.
final class NativeBytes {
  private var owned: [UnsafeMutableRawBufferPointer] = []

  deinit {
    for bytes in owned { bytes.deallocate() }
  }

  func keep(_ text: String) -> bench_text {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: text.utf8.count + 1, alignment: 1)
    copy.copyBytes(from: text.utf8)
    owned.append(copy)
    let bytes = copy.baseAddress.map { UnsafePointer($0.assumingMemoryBound(to: CChar.self)) }
    return bench_text(bytes: bytes, length: UInt32(text.utf8.count))
  }
}
