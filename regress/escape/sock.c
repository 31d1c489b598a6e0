/*
 * Cases D64, D65. sock listen ADDRESS...: listens on all of them, says
 * "listening", and "reached ADDRESS" for each connection or datagram, until
 * stdin ends. sock reach ADDRESS...: tries each. An address is a path or an
 * abstract @name, with "d:" before it for datagrams; with "c:" it is
 * connected to by its folder's descriptor, with "s:" by a seqpacket.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX	32

static int
address(const char *word, struct sockaddr_un *sun, socklen_t *len)
{
	int	type = SOCK_STREAM;

	if (word[0] != '\0' && word[1] == ':') {
		type = word[0] == 'd' ? SOCK_DGRAM : word[0] == 's' ?
		    SOCK_SEQPACKET : SOCK_STREAM;
		word += 2;
	}
	memset(sun, 0, sizeof(*sun));
	sun->sun_family = AF_UNIX;
	if (strlen(word) >= sizeof(sun->sun_path))
		errx(2, "%s: too long", word);
	memcpy(sun->sun_path, word, strlen(word));
	*len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
	    strlen(word) + (*word == '@' ? 0 : 1));
	if (*word == '@')
		sun->sun_path[0] = '\0';
	return (type);
}

static void
listen_all(int n, char **words)
{
	struct pollfd		pfd[MAX + 1] = { { .events = POLLIN } };
	struct sockaddr_un	sun;
	socklen_t		len;
	char			buf[64];
	int			i, type;

	for (i = 0; i < n; i++) {
		type = address(words[i], &sun, &len);
		pfd[i + 1].events = POLLIN;
		pfd[i + 1].fd = socket(AF_UNIX, type, 0);
		if (pfd[i + 1].fd == -1 || bind(pfd[i + 1].fd,
		    (struct sockaddr *)&sun, len) == -1 ||
		    (type != SOCK_DGRAM && listen(pfd[i + 1].fd, 8) == -1))
			err(2, "%s", words[i]);
		if (sun.sun_path[0] != '\0')
			chmod(sun.sun_path, 0666);
	}
	printf("listening\n");
	fflush(stdout);
	while (poll(pfd, (nfds_t)n + 1, -1) > 0 && pfd[0].revents == 0)
		for (i = 0; i < n; i++) {
			if (pfd[i + 1].revents == 0)
				continue;
			type = accept(pfd[i + 1].fd, NULL, NULL);
			if (type != -1)
				close(type);
			else if (recv(pfd[i + 1].fd, buf, sizeof(buf),
			    MSG_DONTWAIT) == -1)
				continue;
			printf("reached %s\n", words[i]);
			fflush(stdout);
		}
}

static void
reach(const char *word)
{
	struct sockaddr_un	sun;
	socklen_t		len;
	int			r, s, type = address(word, &sun, &len);

	if ((s = socket(AF_UNIX, type, 0)) == -1)
		r = -1;
	else if (type == SOCK_DGRAM)
		r = (int)sendto(s, "evil", 4, 0, (struct sockaddr *)&sun, len);
	else
		r = connect(s, (struct sockaddr *)&sun, len);
	printf("%s %s\n", word, r == -1 ? strerrorname_np(errno) : "reached");
	close(s);
}

int
main(int argc, char **argv)
{
	int	i;

	if (argc < 3 || argc > MAX + 2)
		errx(2, "usage: sock listen|reach address...");
	if (strcmp(argv[1], "listen") == 0)
		listen_all(argc - 2, argv + 2);
	else
		for (i = 2; i < argc; i++)
			reach(argv[i]);
	return (0);
}
