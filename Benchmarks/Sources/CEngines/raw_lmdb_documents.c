// Documents on raw LMDB.
//
//   documents   the bytes of the id -> packed record
//   area        area -> id and revision, DUPSORT: sums need no document

#include "raw_lmdb.h"
#include "row_hash.h"
#include "shapes.h"

enum { DOCUMENT_FIXED = 12 };

struct bench_documents {
  MDB_env *environment;
  MDB_dbi documents;
  MDB_dbi areas;
  MDB_txn *parked;
};

static inline size_t document_size(const bench_document *document) {
  return DOCUMENT_FIXED + (size_t)document->area.length + document->title.length
    + document->body.length;
}

// Revision, length of the area, of the title, of the body; the texts.
static inline void pack_document(unsigned char *target, const bench_document *document) {
  uint16_t body = (uint16_t)document->body.length;
  memcpy(target, &document->revision, 8);
  target[8] = (unsigned char)document->area.length;
  target[9] = (unsigned char)document->title.length;
  memcpy(target + 10, &body, 2);
  target += DOCUMENT_FIXED;
  memcpy(target, document->area.bytes, document->area.length);
  target += document->area.length;
  memcpy(target, document->title.bytes, document->title.length);
  memcpy(target + document->title.length, document->body.bytes, document->body.length);
}

// A view: its texts point into the bytes.
static inline void view_document(bench_document *document, const MDB_val *id, const void *bytes) {
  const unsigned char *source = bytes;
  uint16_t body;
  memcpy(&document->revision, source, 8);
  memcpy(&body, source + 10, 2);
  const char *texts = (const char *)source + DOCUMENT_FIXED;
  document->id = (bench_text){id->mv_data, (uint32_t)id->mv_size};
  document->area = (bench_text){texts, source[8]};
  document->title = (bench_text){texts + source[8], source[9]};
  document->body = (bench_text){texts + source[8] + source[9], body};
}

static inline void add_document(
  bench_result *result, const MDB_val *id, const MDB_val *value, bool all_bytes) {
  bench_document document;
  view_document(&document, id, value->mv_data);
  bench_text texts[4] = {document.id, document.area, document.title, document.body};
  uint64_t hash = ROW_HASH_START;
  for (int index = 0; index < 4; index++) {
    texts[index].bytes = person_copy_string(texts[index].bytes, texts[index].length);
    __asm__ volatile("" : : "r"(texts[index].bytes) : "memory");
    hash = row_add_text(hash, texts[index].bytes, texts[index].length, all_bytes);
  }
  result_add(result, row_add(hash, (uint64_t)document.revision));
  for (int index = 0; index < 4; index++) free((void *)texts[index].bytes);
}

// An entry of an area: the revision, the id.
static inline void make_entry(index_key *entry, const bench_document *document) {
  store_key_int(entry->bytes, document->revision);
  memcpy(entry->bytes + 8, document->id.bytes, document->id.length);
  entry->length = 8 + (size_t)document->id.length;
}

// MARK: Opening

int bench_documents_open(const char *path, bench_documents **out) {
  int code;
  MDB_txn *txn = NULL;
  bench_documents *store = calloc(1, sizeof *store);
  if (store == NULL) abort();
  CHECK(lmdb_open_environment(path, &store->environment));
  CHECK(mdb_txn_begin(store->environment, NULL, 0, &txn));
  CHECK(mdb_dbi_open(txn, "documents", MDB_CREATE, &store->documents));
  CHECK(mdb_dbi_open(txn, "area", MDB_CREATE | MDB_DUPSORT, &store->areas));
  code = mdb_txn_commit(txn);
  txn = NULL;
  if (code != 0) goto failed;
  *out = store;
  return 0;
failed:
  if (txn != NULL) mdb_txn_abort(txn);
  bench_documents_close(store);
  return code;
}

void bench_documents_close(bench_documents *store) {
  if (store->parked != NULL) mdb_txn_abort(store->parked);
  if (store->environment != NULL) mdb_env_close(store->environment);
  free(store);
}

// MARK: Writing

static int put_document(
  bench_documents *store, MDB_txn *txn, const bench_document *document, unsigned flags) {
  MDB_val key = {document->id.length, (void *)document->id.bytes};
  MDB_val value = {document_size(document), NULL};
  int code = mdb_put(txn, store->documents, &key, &value, MDB_RESERVE | flags);
  if (code == 0) pack_document(value.mv_data, document);
  return code;
}

int bench_documents_insert(
  bench_documents *store, const bench_document *documents, size_t count, bench_result *result) {
  MDB_txn *txn;
  int code = mdb_txn_begin(store->environment, NULL, 0, &txn);
  if (code != 0) return code;
  for (size_t at = 0; at < count; at++) {
    index_key area, entry;
    CHECK(put_document(store, txn, &documents[at], MDB_NOOVERWRITE));
    make_email_key(&area, documents[at].area.bytes, documents[at].area.length);
    make_entry(&entry, &documents[at]);
    MDB_val key = {area.length, area.bytes}, value = {entry.length, entry.bytes};
    CHECK(mdb_put(txn, store->areas, &key, &value, 0));
  }
  result->rows += count;
  return mdb_txn_commit(txn);
failed:
  mdb_txn_abort(txn);
  return code;
}

int bench_documents_update(
  bench_documents *store, const bench_document *changes, size_t count, bench_result *result) {
  MDB_txn *txn;
  int code = mdb_txn_begin(store->environment, NULL, 0, &txn);
  if (code != 0) return code;
  for (size_t at = 0; at < count; at++) {
    bench_document document;
    MDB_val key = {changes[at].id.length, (void *)changes[at].id.bytes}, value;
    CHECK(mdb_get(txn, store->documents, &key, &value));
    // The old texts go with their page when it is written to.
    char *copy = person_copy_string(value.mv_data, (uint32_t)value.mv_size);
    view_document(&document, &key, copy);
    document.body = changes[at].body;
    code = put_document(store, txn, &document, 0);
    free(copy);
    if (code != 0) goto failed;
  }
  result->rows += count;
  return mdb_txn_commit(txn);
failed:
  mdb_txn_abort(txn);
  return code;
}

int bench_documents_delete(
  bench_documents *store, const bench_text *ids, size_t count, bench_result *result) {
  MDB_txn *txn;
  int code = mdb_txn_begin(store->environment, NULL, 0, &txn);
  if (code != 0) return code;
  for (size_t at = 0; at < count; at++) {
    bench_document document;
    index_key area, entry;
    MDB_val id = {ids[at].length, (void *)ids[at].bytes}, value;
    CHECK(mdb_get(txn, store->documents, &id, &value));
    view_document(&document, &id, value.mv_data);
    make_email_key(&area, document.area.bytes, document.area.length);
    make_entry(&entry, &document);
    MDB_val key = {area.length, area.bytes}, duplicate = {entry.length, entry.bytes};
    CHECK(mdb_del(txn, store->areas, &key, &duplicate));
    CHECK(mdb_del(txn, store->documents, &id, NULL));
  }
  result->rows += count;
  return mdb_txn_commit(txn);
failed:
  mdb_txn_abort(txn);
  return code;
}

// MARK: Reading

typedef struct {
  MDB_txn *txn;
  MDB_cursor *cursor;
} document_read;

static int start_documents(bench_documents *store, MDB_dbi database, document_read *read) {
  read->cursor = NULL;
  int code = renew_read(store->environment, &store->parked, &read->txn);
  return code != 0 ? code : mdb_cursor_open(read->txn, database, &read->cursor);
}

static int end_documents(document_read *read, int code) {
  if (read->cursor != NULL) mdb_cursor_close(read->cursor);
  if (read->txn != NULL) mdb_txn_reset(read->txn);
  return code == MDB_NOTFOUND ? 0 : code;
}

int bench_documents_find(
  bench_documents *store, const bench_text *ids, size_t count, bench_result *result) {
  document_read read;
  int code = start_documents(store, store->documents, &read);
  for (size_t at = 0; code == 0 && at < count; at++) {
    MDB_val key = {ids[at].length, (void *)ids[at].bytes}, value;
    code = mdb_get(read.txn, store->documents, &key, &value);
    if (code == 0) add_document(result, &key, &value, false);
    else if (code == MDB_NOTFOUND) code = MDB_CORRUPTED;
  }
  return end_documents(&read, code);
}

int bench_documents_page(
  bench_documents *store, const bench_text *ids, size_t count, size_t limit, bench_result *result) {
  document_read read;
  int code = start_documents(store, store->documents, &read);
  for (size_t at = 0; code == 0 && at < count; at++) {
    MDB_val key = {ids[at].length, (void *)ids[at].bytes}, value;
    code = mdb_cursor_get(read.cursor, &key, &value, MDB_SET_RANGE);
    if (code == 0 && key.mv_size == ids[at].length
      && memcmp(key.mv_data, ids[at].bytes, key.mv_size) == 0) {
      code = mdb_cursor_get(read.cursor, &key, &value, MDB_NEXT);
    }
    for (size_t left = limit; code == 0 && left > 0; left--) {
      add_document(result, &key, &value, false);
      code = mdb_cursor_get(read.cursor, &key, &value, MDB_NEXT);
    }
    if (code == MDB_NOTFOUND) code = 0;
  }
  return end_documents(&read, code);
}

int bench_documents_prefix(
  bench_documents *store, const bench_text *prefixes, size_t count, int wanted,
  bench_result *result) {
  document_read read;
  int code = start_documents(store, store->documents, &read);
  for (size_t at = 0; code == 0 && at < count; at++) {
    bench_text prefix = prefixes[at];
    uint64_t held = 0;
    MDB_val key = {prefix.length, (void *)prefix.bytes}, value;
    // Asking for no value leaves the pages of the documents alone.
    MDB_val *asked = wanted == BENCH_RECORDS ? &value : NULL;
    code = mdb_cursor_get(read.cursor, &key, asked, MDB_SET_RANGE);
    while (code == 0 && key.mv_size >= prefix.length
      && memcmp(key.mv_data, prefix.bytes, prefix.length) == 0) {
      if (wanted == BENCH_RECORDS) {
        add_document(result, &key, &value, false);
      } else if (wanted == BENCH_IDS) {
        char *id = person_copy_string(key.mv_data, (uint32_t)key.mv_size);
        __asm__ volatile("" : : "r"(id) : "memory");
        result_add(result, row_add_text(ROW_HASH_START, id, (uint32_t)key.mv_size, false));
        free(id);
      }
      held += 1;
      code = mdb_cursor_get(read.cursor, &key, asked, MDB_NEXT);
    }
    if (wanted == BENCH_COUNT) result_add(result, row_add(ROW_HASH_START, held));
    if (code == MDB_NOTFOUND) code = 0;
  }
  return end_documents(&read, code);
}

int bench_documents_areas(bench_documents *store, bench_result *result) {
  document_read read;
  MDB_val key, entry;
  int code = start_documents(store, store->areas, &read);
  if (code == 0) code = mdb_cursor_get(read.cursor, &key, &entry, MDB_FIRST);
  while (code == 0) {
    size_t count;
    code = mdb_cursor_count(read.cursor, &count);
    uint64_t hash = row_add_text(
      ROW_HASH_START, (const char *)key.mv_data + 1, (uint32_t)key.mv_size - 1, true);
    result_add(result, row_add(hash, count));
    if (code == 0) code = mdb_cursor_get(read.cursor, &key, &entry, MDB_NEXT_NODUP);
  }
  return end_documents(&read, code);
}

int bench_documents_sum(
  bench_documents *store, const bench_text *areas, size_t count, bench_result *result) {
  document_read read;
  int code = start_documents(store, store->areas, &read);
  for (size_t at = 0; code == 0 && at < count; at++) {
    index_key area;
    int64_t sum = 0;
    make_email_key(&area, areas[at].bytes, areas[at].length);
    MDB_val key = {area.length, area.bytes}, entry;
    code = mdb_cursor_get(read.cursor, &key, &entry, MDB_SET_KEY);
    while (code == 0) {
      sum += load_key_int(entry.mv_data);
      code = mdb_cursor_get(read.cursor, &key, &entry, MDB_NEXT_DUP);
    }
    if (code == MDB_NOTFOUND) code = 0;
    result_add(result, row_add(ROW_HASH_START, (uint64_t)sum));
  }
  return end_documents(&read, code);
}

int bench_documents_scan(bench_documents *store, bool all_bytes, bench_result *result) {
  document_read read;
  MDB_val key, value;
  int code = start_documents(store, store->documents, &read);
  while (code == 0) {
    code = mdb_cursor_get(read.cursor, &key, &value, MDB_NEXT);
    if (code == 0) add_document(result, &key, &value, all_bytes);
  }
  return end_documents(&read, code);
}
