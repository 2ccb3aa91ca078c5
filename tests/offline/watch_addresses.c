/* Writes to the file $WATCHED_ADDRESSES, one line each, every host name that a process looks up and every Internet address that it
   connects or sends to. Loaded with LD_PRELOAD, it also sees native threads of other libraries, which Python's audit hooks do not. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void note(const char *what, const char *text) {
    const char *path = getenv("WATCHED_ADDRESSES");
    char line[400];
    int file, length;
    if (path == NULL || (file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) < 0) return;
    length = snprintf(line, sizeof line, "%s %s\n", what, text ? text : "");
    if (write(file, line, (size_t)length) < 0) abort();
    close(file);
}

static void note_address(const char *what, const struct sockaddr *address) {
    char text[INET6_ADDRSTRLEN] = "";
    if (address == NULL) return;
    if (address->sa_family == AF_INET) inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, text, sizeof text);
    else if (address->sa_family == AF_INET6) inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)address)->sin6_addr, text, sizeof text);
    else return;
    note(what, text);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    note("look-up", host);
    return NEXT(getaddrinfo)(host, service, hints, found);
}

struct hostent *gethostbyname(const char *host) {
    note("look-up", host);
    return NEXT(gethostbyname)(host);
}

int connect(int socket, const struct sockaddr *address, socklen_t length) {
    note_address("connect", address);
    return NEXT(connect)(socket, address, length);
}

ssize_t sendto(int socket, const void *data, size_t size, int flags, const struct sockaddr *address, socklen_t length) {
    note_address("send", address);
    return NEXT(sendto)(socket, data, size, flags, address, length);
}

ssize_t sendmsg(int socket, const struct msghdr *message, int flags) {
    if (message != NULL) note_address("send", message->msg_name);
    return NEXT(sendmsg)(socket, message, flags);
}

int sendmmsg(int socket, struct mmsghdr *messages, unsigned int count, int flags) {
    for (unsigned int i = 0; i < count; i++) note_address("send", messages[i].msg_hdr.msg_name);
    return NEXT(sendmmsg)(socket, messages, count, flags);
}
