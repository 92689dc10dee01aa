// SPDX-License-Identifier: BSD-3-Clause
//
// One file to several receivers by NORM (RFC 5740), through the library of Debian's libnorm-dev, whose header wants C++.
// The sender ends when every receiver has acknowledged everything; a receiver when it has the file. For bench/rivals only.
//   norm_file recv FILE NODE-ID INTERFACE
//   norm_file send FILE INTERFACE BITS-PER-SECOND RECEIVERS      (their ids are 2 ... RECEIVERS + 1)
#include <normApi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

const char *const group = "239.193.5.5";
const UINT16 port = 6003;
const UINT32 buffer_bytes = 64u << 20;
const unsigned socket_bytes = 4u << 20;

[[noreturn]] void fail(const char *what)
{
    std::fprintf(stderr, "norm_file: %s\n", what);
    std::exit(1);
}

std::vector<char> read_file(const char *path)
{
    std::vector<char> bytes;
    char piece[1 << 16];
    std::FILE *file = std::fopen(path, "rb");
    if (!file) {
        fail("cannot read the file");
    }
    for (size_t got; (got = std::fread(piece, 1, sizeof piece, file)) > 0;) {
        bytes.insert(bytes.end(), piece, piece + got);
    }
    std::fclose(file);
    return bytes;
}

NormSessionHandle open_session(NormInstanceHandle instance, NormNodeId id, const char *interface)
{
    NormSessionHandle session = NormCreateSession(instance, group, port, id);
    if (session == NORM_SESSION_INVALID || !NormSetMulticastInterface(session, interface)) {
        fail("no session on this interface");
    }
    return session;
}

int send_file(const char *path, const char *interface, double rate, int receivers)
{
    std::vector<char> bytes = read_file(path);
    NormInstanceHandle instance = NormCreateInstance();
    NormSessionHandle session = open_session(instance, 1, interface);
    NormEvent event;
    NormSetTxRate(session, rate);
    NormSetCongestionControl(session, false);
    NormSetGrttEstimate(session, 0.002);
    NormSetGroupSize(session, static_cast<unsigned>(receivers));
    NormSetTxCacheBounds(session, buffer_bytes, 1, 8);
    for (int i = 0; i < receivers; i++) {
        NormAddAckingNode(session, static_cast<NormNodeId>(i + 2));
    }
    if (!NormStartSender(session, 1, buffer_bytes, 1400, 64, 8)) {
        fail("the sender does not start");
    }
    NormSetTxSocketBuffer(session, socket_bytes);
    NormObjectHandle object = NormDataEnqueue(session, bytes.data(), static_cast<UINT32>(bytes.size()));
    if (object == NORM_OBJECT_INVALID || !NormSetWatermark(session, object, true)) {
        fail("the file cannot be queued");
    }
    while (NormGetNextEvent(instance, &event)) {
        if (event.type != NORM_TX_WATERMARK_COMPLETED) {
            continue;
        }
        if (NormGetAckingStatus(session) == NORM_ACK_SUCCESS) {
            NormStopSender(session);
            NormDestroyInstance(instance);
            return 0;
        }
        NormResetWatermark(session); // somebody is slow to start; ask again
    }
    fail("the session ended");
}

int write_object(NormObjectHandle object, const char *path)
{
    size_t count = static_cast<size_t>(NormObjectGetSize(object));
    std::FILE *file = std::fopen(path, "wb");
    if (!file || std::fwrite(NormDataAccessData(object), 1, count, file) != count || std::fclose(file)) {
        fail("cannot write the file");
    }
    return 0;
}

int receive_file(const char *path, NormNodeId id, const char *interface)
{
    NormInstanceHandle instance = NormCreateInstance();
    NormSessionHandle session = open_session(instance, id, interface);
    NormEvent event;
    bool is_written = false;
    if (!NormStartReceiver(session, buffer_bytes)) {
        fail("the receiver does not start");
    }
    NormSetRxSocketBuffer(session, socket_bytes);
    std::puts("ready");
    std::fflush(stdout);
    while (NormGetNextEvent(instance, &event)) {
        if (event.type == NORM_RX_OBJECT_COMPLETED && !is_written) {
            write_object(event.object, path);
            is_written = true;
            std::puts("done"); // and stay, so that the acknowledgement leaves; the script ends us
            std::fflush(stdout);
        }
    }
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc == 5 && std::strcmp(argv[1], "recv") == 0) {
        return receive_file(argv[2], static_cast<NormNodeId>(std::atoi(argv[3])), argv[4]);
    }
    if (argc == 6 && std::strcmp(argv[1], "send") == 0) {
        return send_file(argv[2], argv[3], std::atof(argv[4]), std::atoi(argv[5]));
    }
    fail("usage: recv FILE NODE-ID INTERFACE | send FILE INTERFACE BITS-PER-SECOND RECEIVERS");
}
