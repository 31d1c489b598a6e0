/*
 * What goes through to the owner's terminal, and what puts it back. Every
 * case is fed whole, byte by byte, and split in two at each place: it never
 * matters how a stream comes in.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atf-c.h>

#include "sbxctl/filter.h"

#define ROOM	(1 << 16)

/* What the filters are told at first. */
static bool	quiet, screen;

static void
fail_bytes(const char *what, const char *in, size_t inlen, const uint8_t *got,
    size_t gotlen, const char *want)
{
	size_t	i;

	fprintf(stderr, "%s\nin:   ", what);
	for (i = 0; i < inlen; i++)
		fprintf(stderr, "%02x ", (unsigned char)in[i]);
	fprintf(stderr, "\ngot:  ");
	for (i = 0; i < gotlen; i++)
		fprintf(stderr, "%02x ", got[i]);
	fprintf(stderr, "\nwant: ");
	for (i = 0; want[i] != '\0'; i++)
		fprintf(stderr, "%02x ", (unsigned char)want[i]);
	fprintf(stderr, "\n");
	atf_tc_fail("%s", what);
}

static void
feed_split(const char *what, const char *in, size_t len, const char *want,
    bool utf8, size_t at)
{
	static uint8_t	out[ROOM];
	struct filter	f;
	size_t		n;

	filter_init(&f, utf8, false);
	f.quiet = quiet;
	f.screen = screen;
	n = filter_out(&f, (const uint8_t *)in, at, out);
	n += filter_out(&f, (const uint8_t *)in + at, len - at, out + n);
	if (n != strlen(want) || memcmp(out, want, n) != 0)
		fail_bytes(what, in, len, out, n, want);
}

static void
feed(const char *what, const char *in, size_t len, const char *want, bool utf8)
{
	static uint8_t	out[ROOM];
	struct filter	f;
	size_t		i, n = 0;

	for (i = 0; i <= len; i++)
		feed_split(what, in, len, want, utf8, i);
	filter_init(&f, utf8, false);
	f.quiet = quiet;
	f.screen = screen;
	for (i = 0; i < len; i++)
		n += filter_out(&f, (const uint8_t *)in + i, 1, out + n);
	if (n != strlen(want) || memcmp(out, want, n) != 0)
		fail_bytes(what, in, len, out, n, want);
}

struct row {
	const char	*what, *in, *want;
};

static void
rows(const struct row *r, size_t n, bool utf8)
{
	for (; n > 0; n--, r++)
		feed(r->what, r->in, strlen(r->in),
		    r->want != NULL ? r->want : r->in, utf8);
}
#define ROWS(r, utf8)	rows(r, sizeof(r) / sizeof((r)[0]), utf8)

/* want NULL: all of it goes through. */
static const struct row	passes[] = {
	{ "text", "hello\r\nworld\t\a\b\v\f", NULL },
	{ "characters", "gr\303\274n \342\202\254 \360\237\230\200", NULL },
	{ "colours", "\033[1;31mred\033[0m\033[38;5;12mx\033[m", NULL },
	{ "modes", "\033[?1049h\033[?25l\033[?2004h\033[?1049l", NULL },
	{ "title", "\033]0;a title\a\033]2;b\033\\", NULL },
	{ "icon title with an umlaut whose last byte is ST's",
	  "\033]2;\303\234ber\a", NULL },
	{ "link", "\033]8;;http://a.example/\033\\x\033]8;;\033\\", NULL },
	{ "folder", "\033]7;file://h/x\033\\", NULL },
	{ "colour query", "\033]11;?\033\\\033]10;?\a", NULL },
	{ "palette reset, without a number's end", "\033]104\a\033]104\033\\",
	  NULL },
	{ "marks of the prompt", "\033]133;A\a", NULL },
	{ "size reports", "\033[14t\033[14;2t\033[16t\033[18t\033[?2;1;0S",
	  NULL },
	{ "writing", "\033[2@\033[A\033[3;4H\033[2J\033[?K\033[L\033[2M\033[P"
	  "\033[S\033[2T\033[3X\033[2I\033[Z\033[5`\033[2a\033[7b\033[3d\033[2e"
	  "\033[1;1f\033[2;9r\033[s\033[u\033[2 @\033[2 A\033[2'}\033[2'~",
	  NULL },
	{ "rectangles", "\033[1;1;2;2$z\033[65;1;1;2;2$x\033[1;1;2;2;1;3;3;1$v"
	  "\033[1;1;2;2;7$r\033[1;1;2;2;7$t\033[1;1;2;2${", NULL },
	{ "shades", "\033[38:2::1:2:3m\033[4:3m\033[58:5:1m", NULL },
	{ "title stack", "\033[22;0t\033[23;0t", NULL },
	{ "device", "\033[c\033[>c\033[=c\033[0c\033[5n\033[6n\033[?6n"
	  "\033[?996n\033[?1$p\033[4$p\033[>q\033[>0q\033[?u\033[?4m\033[x",
	  NULL },
	{ "DECRQSS", "\033P$qm\033\\\033P$qr\033\\\033P$qs\033\\"
	  "\033P$q q\033\\\033P$q\"p\033\\\033P$q\"q\033\\", NULL },
	{ "sixel", "\033Pq#0;2;0;0;0~\033\\", NULL },
	{ "sixel, parameters", "\033P0;1;8q#0;2;0;0;0~|{\033\\", NULL },
	{ "XTGETTCAP", "\033P+q544e;436F\033\\", NULL },
	{ "kitty pictures", "\033_Ga=T;QUJD\033\\\033_Ga=T,f=100,t=d,q=2,z=-1,"
	  "m=1;QUJD\033\\\033_Gm=0;QUJD\033\\\033_Ga=d,d=I,i=10\033\\"
	  "\033_G;QUJD\033\\\033_Gt=d\033\\", NULL },
	{ "charset", "\033(0lqk\033(B", NULL },
	{ "keypad", "\033=\033>", NULL },
	{ "save, restore", "\0337\0338", NULL },
	{ "notification, progress",
	  "\033]9;\342\234\205 done\a\033]9;4;1;50\a"
	  "\033]9;text\033\\", NULL },
	{ "Linux's palette, without an end", "\033]Rtext\033[m\033]P1ff0000t",
	  "\033]R\033\\text\033[m\033]P1ff0000\033\\t" },
	/* Each terminal knows one end; what else ends a string here does not
	 * there. */
	{ "a string cut by a sequence", "\033Pq\033]0;a\ab",
	  "\033Pq\033\\\033]0;a\ab" },
	{ "a string cut by any ESC", "\033]0;a\0337b\033Pq\033\033[mc",
	  "\033]0;a\033\\\0337b\033Pq\033\\\033[mc" },
	{ "a string cut by CAN, SUB", "\033]0;a\030b\033Pq\032c",
	  "\033]0;a\033\\\030b\033Pq\033\\\032c" },
	{ "a string cut by C1", "\033]0;a\302\205b\033]0;a\205c",
	  "\033]0;a\033\\\033Eb\033]0;a\033\\?c" },
	{ "a string that ends in C1", "\033]0;a\302\234b\033Pq\234c",
	  "\033]0;a\033\\b\033Pq\033\\c" },
	{ "a string cut by one that is dropped", "\033Pq\033kb\033\\c",
	  "\033Pq\033\\c" },
	{ "16 modes", "\033[?1;5;6;7;25;1;1;1;1;1;1;1;1;1;1;1000h", NULL },
	{ "modes that are put back", "\033[?12;25h\033[?80;1007;1070;2027;8452l"
	  "\033[?1048h\033[?1048l\033[?1;25s\033[?1;25r\033[4h\033[4l", NULL },
	{ "keys of xterm's and kitty's", "\033[>4;2m\033[>4m\033[>1;3m\033[>m"
	  "\033[>4n\033[>1u\033[<u\033[<2u\033[=5;2u", NULL },
	/* What some terminals take for text is no other sequence to them. */
	{ "C1", "\302\233?1003l\233?1003l\302\2350;a\302\234\220q\234\302\204"
	  "\302\233?9;0h", "\033[?1003l\033[?1003l\033]0;a\033\\\033Pq\033\\"
	  "\033D\033[?9h" },
	{ "all anew, from the other screen", "\033[?1049h\033c\033[?47hx\033c"
	  "\033c", "\033[?1049h\033[?1049l\033c\033[?47hx\033[?47l\033c\033c" },
	{ "escapes", "\033D\033E\033M\033#8\033)0\033*0\033+0\033n\033|"
	  "\033c\033 F\0336\0339", NULL },
	{ "controls in a sequence", "\033\n[\r3\t1m\033[\177?\b25h\033\f(\b0",
	  "\n\r\t\033[31m\b\033[?25h\f\b\033(0" },
	{ "clipboard's number as a string's text", "\033]0;52;c;eA==\a",
	  NULL },
	{ "colour 21", "\033[21m\033[21;21H", NULL },
	{ "an invalid byte", "a\377b\300c", NULL },
	{ "a character broken off", "\342\202x", NULL },
	{ "many parameters", "\033[1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16;17;"
	  "18;19m", NULL },
};

ATF_TC_WITHOUT_HEAD(goes_through);
ATF_TC_BODY(goes_through, tc)
{
	ROWS(passes, true);
}

static const struct row	dropped[] = {
	{ "clipboard", "a\033]52;c;eHh4\ab", "ab" },
	{ "clipboard, ST", "a\033]52;c;eHh4\033\\b", "ab" },
	{ "clipboard query", "a\033]52;c;?\ab", "ab" },
	{ "clipboard, no selection", "a\033]52\ab\033]52\033\\c", "abc" },
	{ "clipboard, zeros before", "a\033]0052;c;x\ab", "ab" },
	{ "clipboard, controls in the number", "a\033]5\n2;c;x\ab", "ab" },
	{ "clipboard, control after ESC", "a\033\n]52;c;x\ab", "a\nb" },
	{ "clipboard, C1", "a\302\23552;c;x\302\234b", "ab" },
	{ "clipboard, C1 bytes", "a\23552;c;x\234b", "ab" },
	{ "clipboard, ESC and C1", "a\033]52;c;x\302\234b", "ab" },
	{ "clipboard, kitty's", "a\0335522\033]5522;x\ab", "a522b" },
	{ "clipboard, wraps round 32 bits", "a\033]4294967348;c;x\ab", "ab" },
	{ "clipboard, upper half", "a\033]\302\265\302\262;c;x\ab", "ab" },
	{ "clipboard, introducer's upper half", "a\033\303\23552;c;x\ab",
	  "a\303\23552;c;x\ab" },
	{ "clipboard, cut by another", "a\033]52;c;x\033[mb", "a\033[mb" },
	{ "clipboard, cut by CAN", "a\033]52;c;x\030b", "a\030b" },
	{ "clipboard, ESC before is not left over",
	  "\033\033]52;c;x\a]52;c;x\a", "]52;c;x\a" },
	{ "clipboard through tmux",
	  "a\033Ptmux;\033\033]52;c;x\a\033\\b", "ab" },
	{ "clipboard through tmux, C1",
	  "a\302\220tmux;\033\033]52;c;x\a\033\\b", "ab" },
	{ "clipboard through screen",
	  "a\033P\033]52;c;x\a\033\\b", "a\033\\b" },
	{ "clipboard inside a title",
	  "a\033]0;t\033]52;c;x\ab", "a\033]0;t\033\\b" },
	{ "clipboard, iTerm2's", "a\033]1337;Copy=:eHh4\ab", "ab" },
	{ "clipboard, iTerm2's longer one",
	  "a\033]1337;CopyToClipboard=\ab\033]1337;EndCopy\ac", "abc" },
	{ "files, kitty's", "a\033]5113;ac=send\033\\b", "ab" },
	{ "clipboard, in a coding of one byte",
	  "a\033%@\330\23552;c;x\ab", "a\330\23552;c;x\ab" },
	{ "another coding, control inside", "a\033\n%@b", "a\nb" },
	{ "back to UTF-8", "a\033%Gb\033%/Gc", "abc" },
	{ "function keys", "a\033P1;1|17/6C730D\033\\b", "ab" },
	{ "function keys, controls before", "a\033P1\n;1|17/6C\033\\b",
	  "ab" },
	{ "function keys, C1", "a\302\2201|17/6C\302\234b", "ab" },
	{ "letters of another shape", "a\033P1;1;1{ @????\033\\b", "ab" },
	{ "kitty's commands", "a\033P@kitty-echo|YXBwbHk=\033\\b"
	  "\033P@kitty-cmd{}\033\\c\033P@kitty-edit|x\033\\d"
	  "\033P@kitty-ssh|x\033\\e", "abcde" },
	{ "kitty's commands, BEL inside, CAN at the end",
	  "a\033P@kitty-echo|\aYXBwbHk=\030b", "a\030b" },
	{ "kitty's commands, C1", "a\302\220@kitty-echo|x\302\234b"
	  "\220@kitty-cmd\234c", "abc" },
	{ "tmux's control mode", "a\033P1000p%begin\033\\b", "ab" },
	{ "DCS of no known kind", "a\033P=1s\033\\b\033P1$tx\033\\c"
	  "\033P+pq\033\\d\033P1+q\033\\e\033P$$q\033\\f\033P>|x\033\\g",
	  "abcdefg" },
	{ "DCS, controls before the kind", "a\033P\nq\033\\b\033P$\nq\033\\c",
	  "abc" },
	{ "DCS without a kind", "a\033P\033\\b\033P1;2\033\\c\033P+\033\\d",
	  "abcd" },
	{ "DCS that begins as tmux's", "a\033Ptm;\033\033x\033\\b", "ab" },
	{ "editors' commands", "a\033]51;[\"call\",\"Tapi_x\",[]]\ab"
	  "\033]51;Eview-file x\033\\c", "abc" },
	{ "ConEmu's commands", "a\033]9;7;cmd\ab\033]9;6;x\ac\033]9;10\ad"
	  "\033]9;\n7;cmd\ae", "abcde" },
	{ "other numbers", "a\033]3;P=v\ab\033]50;x\ac\033]99;i=1;x\ad"
	  "\033]633;E;x\ae\033]777;notify;a;b\af\033]21;a=b\ag"
	  "\033]5;0;red\ah\033]22;x\ai", "abcdefghi" },
	{ "a number without its end", "a\0332 ]0\033]2 52;c\ab\033]0x;t\ac",
	  "a ]0bc" },
	{ "no number", "a\033];52;c;x\ab\033]lt\033\\c\033]\ad", "abcd" },
	{ "APC but for pictures", "a\033_x\033\\b\033_;G\033\\c\033_\033\\d",
	  "abcd" },
	{ "PM, SOS", "a\033^x\033\\b\033Xx\ay\033\\c\302\236x\302\234d"
	  "\230x\234e", "abcde" },
	{ "screen's strings", "a\033kx\033\\b\033ky\ay\030c\033kz\033[md"
	  "\033!xe\033\"xf", "ab\030c\033[mdef" },
	{ "Linux's palette, broken off", "a\033]P12345\033[mb\033]P12g\ac",
	  "a\033[mbc" },
	{ "numbers alone", "a\033]0\033\\52;c;eA==\ab\033]11\ac\033]8\033\\d"
	  "\033]133\302\234e", "a52;c;eA==\abcde" },
	{ "controls in strings", "a\033]0;\005b\001\n\177c\a"
	  "\033]\0050\n;d\a\033Pq\a#0\r\n\005\303\274~\033\\",
	  "a\033]0;bc\a\033]0;d\a\033Pq#0\r\n~\033\\" },
	{ "pictures out of files", "a\033_Gi=1,a=q,t=f;L2V0Yw==\033\\b"
	  "\033_Gt=t,a=T;L3RtcA==\033\\c\033_Ga=T,t=s;L3g=\033\\d"
	  "\033_Gt=d,t=f;L3g=\033\\e\033_Gt=df;L3g=\033\\f"
	  "\033_Gt=s\033\\g\302\237Gt=s;L3g=\302\234h", "abcdefgh" },
	{ "pictures that are none", "a\033_G a=T;QQ==\033\\b"
	  "\033_Ga=T,;QQ==\033\\c\033_Gat=f;QQ==\033\\d\033_Ga=;QQ==\033\\e"
	  "\033_Ga;\033\\f"
	  "\033_Ga=T,\303\264=f;QQ==\033\\g\033_Ga=T\nt=f;QQ==\033\\h"
	  "\033_Ga=T,\033\\i", "abcdefghi" },
	{ "DECRQSS with a text", "a\033P$qx;touch y\r\033\\b\033P$q\033\\c"
	  "\033P$qmm\033\\d\033P$q q \033\\e\033P$q\302\355\033\\f"
	  "\033P$q1m\033\\g", "abcdefg" },
	{ "XTGETTCAP with a text", "a\033P+qls\033\\b\033P+q544e;\r\033\\c"
	  "\033P+q\033\\d\033P+q54g\033\\e", "abcde" },
	{ "answerback", "a\005b\033[\005md\033]0;\005t\033\005\\e",
	  "ab\033[md\033]0;t\033\\e" },
	{ "questions with other answers", "a\033[1;1;1;1#|b\033['|c\033[2;2$ud"
	  "\033[1$we\033[&uf\033[1;1;1;1;9;9*yg\033[?62nh\033[?63ni\033[1\"vj"
	  "\033[#Rk\033[>1ql\033[1;2*zm\033[?55nn\033[5;6no\033[1cp",
	  "abcdefghijklmnop" },
	{ "other finals", "a\033[5yb\033[1Uc\033[1;2]d\033[1qe\033[>2pf"
	  "\033[>1tg\033[>1Th\033[>1si\033[2*xj\033[2$~k\033[80$|l\033[2*|m"
	  "\033[[n\033[1;1;5;1;5To\033[?1;3;256Sp\033[=1hq\033[<mr\033[%ms"
	  "\033[2:1Ht", "abcdefghijklmnopqrst" },
	{ "the window", "a\033[2tb\033[8;1;1tc\033[3;9999;0td\033[24te"
	  "\033[9;1tf", "abcdef" },
	{ "VT52", "a\033[?2lb\033[?25;2lc\033[?02rd\033[?2;1le",
	  "ab\033[?25lcd\033[?1le" },
	{ "modes that nothing puts back", "a\033[2hb\033[20hc\033[12ld"
	  "\033[2;4;20he\033[?67hf\033[?1060;1061hg\033[?5522hh\033[?7727hi"
	  "\033[?hj\033[?1034;25hk\033[?3;4ll\033[?sm\033[?rn"
	  "\033[?67;1ro\033[>1hp\033[?1049:1hq\2333;4l\233?9;0hr",
	  "abcd\033[4hefghij\033[?25hklmn\033[?1ropq\033[4l\033[?9hr" },
	{ "modes in no order", "a\033[2?1hb\033[?$1hc\033[1?25ld\033[??1he"
	  "\033[?1 $he", "abcdee" },
	{ "tab stops", "a\033Hb\302\210c\033[gd\033[3ge\033[?5Wf\033[2Wg",
	  "abcdefg" },
	{ "memory lock", "a\033lb\033mc", "abc" },
	{ "locators", "a\033[1;2'zb\033[1;3'{c", "abc" },
	{ "protected letters", "a\033[1\"qb\033Vc\302\226d", "abcd" },
	{ "shifts for one of ours", "a\033Nb\033Oc\302\216d", "abcd" },
	{ "lines of another width", "a\033#3b\033#6c", "abc" },
	{ "other escapes", "a\033Fb\033#8\033((0c\033$Bd\033&xe\033,0f",
	  "ab\033#8cdef" },
	{ "letters that are alone", "it\222s \210 \226\205", "it?s ? ??" },
	{ "keys of xterm's that are not put back", "a\033[>6;1mb\033[>5nc",
	  "abc" },
	{ "none or one off kitty's stack", "a\033[<0ub", "ab" },
	{ "answers in C1", "a\033 Gb\033\n Gc\033[62;0\"pd", "ab\ncd" },
	{ "more modes than are read", "a\033[?1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;"
	  "1000hb\033[?1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;2lc", "abc" },
	{ "to the printer", "a\033[5ib\033[?5ic\033[4i", "abc" },
	{ "title report", "a\033[21tb", "ab" },
	{ "icon report", "a\033[20tb", "ab" },
	{ "title report, zeros", "a\033[021tb", "ab" },
	{ "title report, more numbers", "a\033[21;0;0tb", "ab" },
	{ "title report, very many numbers",
	  "a\033[21;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0tb", "ab" },
	{ "title report, control inside", "a\033[2\r1tb", "a\rb" },
	{ "title report, C1", "a\302\23321tb\23321tc", "abc" },
	{ "title report, wraps round", "a\033[65557tb", "ab" },
	{ "title report, upper half", "a\033[\302\262\302\261tb", "ab" },
	{ "title report inside a title",
	  "a\033]0;t\033[21tb", "a\033]0;t\033\\b" },
};

ATF_TC_WITHOUT_HEAD(left_out);
ATF_TC_BODY(left_out, tc)
{
	ROWS(dropped, true);
}

/* What is in a DCS reaches the terminal around screen, where it is none. */
static const struct row	in_screen[] = {
	{ "DCS", "a\033Pq#0~\033\\b\033P$qm\033\\c\302\220qd\302\234e",
	  "abce" },
	{ "cut off", "a\033Pq\033]0;b\ac", "a\033]0;b\ac" },
	{ "put together", "a\033Pq\033]0\033\\52;c;ZXZpbA==\ab",
	  "a52;c;ZXZpbA==\ab" },
	{ "all else", "\033]0;a\a\033[1mb\033_Ga=T;QUJD\033\\", NULL },
};

ATF_TC_WITHOUT_HEAD(screen_dcs);
ATF_TC_BODY(screen_dcs, tc)
{
	screen = true;
	ROWS(in_screen, true);
}

/* Where the terminal's coding is of one byte, 0x9d is OSC after any other. */
static const struct row	latin[] = {
	{ "text", "gr\374n \351\366", NULL },
	{ "clipboard after a letter", "\303\23552;c;x\ab", "\303b" },
	{ "title report after a letter", "\342\23321tb", "\342b" },
	{ "C1", "\23331m\204\205", "\033[31m\033D\033E" },
};

ATF_TC_WITHOUT_HEAD(one_byte_coding);
ATF_TC_BODY(one_byte_coding, tc)
{
	ROWS(latin, false);
}

/* head, then many of one byte, then tail: "a" before and "b" after it are
 * all that comes through. */
static void
longer(const char *what, const char *head, char fill, const char *tail)
{
	static char	in[1100];
	size_t		i, n = strlen(head);

	memset(in, fill, sizeof(in));
	for (i = 0; i < n; i++)
		in[i] = head[i];
	strlcpy(in + 1000, tail, sizeof(in) - 1000);
	feed_split(what, in, strlen(in), "ab", true, n);
}

/* No sequence is so long that its end is not looked at, and nothing of one
 * leaves the terminal after an ESC. */
ATF_TC_WITHOUT_HEAD(overlong);
ATF_TC_BODY(overlong, tc)
{
	longer("ESC, nothings, clipboard", "a\033", '\177', "]52;c;x\ab");
	longer("ESC, nothings, DCS", "a\033", '\177', "Px\033\\b");
	longer("ESC, intermediates", "a\033", '(', "0b");
	longer("capabilities", "a\033P+q", '5', "\033\\b");
	longer("zeros, title report", "a\033[", '0', "21tb");
	longer("zeros, clipboard", "a\033]", '0', "52;c;x\ab");
}

static uint32_t
asked_raw(const char *text)
{
	struct filter	f;
	uint8_t		out[ROOM];

	filter_init(&f, true, true);
	filter_out(&f, (const uint8_t *)text, strlen(text), out);
	return (filter_pending(&f));
}

/* What puts back begins with what ends all that there may be, once a sequence
 * has gone out. */
#define ENDS	"\030\033\\"

ATF_TC_WITHOUT_HEAD(raw);
ATF_TC_BODY(raw, tc)
{
	static const char	in[] = "a\033]52;c;x\a\033[21t\033[?1049h";
	static const char	vt52[] = "\033[?1h\033[?2l\033Y\033<\033c"
				    "\033[?5h";
	struct filter		f;
	uint8_t			out[ROOM];
	char			buf[256];
	size_t			n;

	filter_init(&f, true, true);
	n = filter_out(&f, (const uint8_t *)in, sizeof(in) - 1, out);
	ATF_REQUIRE_EQ(n, sizeof(in) - 1);
	ATF_REQUIRE(memcmp(in, out, n) == 0);
	/* Modes are put back all the same. */
	n = filter_reset(&f, buf, sizeof(buf));
	buf[n] = '\0';
	ATF_REQUIRE_STREQ(buf, ENDS "\033[?1049l");
	/* VT52 first, whatever seems to have ended it. */
	filter_out(&f, (const uint8_t *)vt52, sizeof(vt52) - 1, out);
	n = filter_reset(&f, buf, sizeof(buf));
	buf[n] = '\0';
	ATF_REQUIRE_STREQ(buf, ENDS "\033<\033[?1l\033[?5l");
	ATF_REQUIRE_EQ(filter_reset(&f, buf, sizeof(buf)), 0);
	filter_out(&f, (const uint8_t *)"\033 G", 3, out);
	n = filter_reset(&f, buf, sizeof(buf));
	buf[n] = '\0';
	ATF_REQUIRE_STREQ(buf, ENDS "\033 F");
	/* What asks is counted, which answers are swallowed by. */
	ATF_CHECK_EQ(asked_raw("\033]21;foreground=?;background=?\a"), 1);
	ATF_CHECK_EQ(asked_raw("\033]21;foreground=red\a"), 0);
	ATF_CHECK_EQ(asked_raw("\033]99;i=1:p=?;\033\\"), 1);
	ATF_CHECK_EQ(asked_raw("\033]99;i=1;text\033\\"), 0);
	ATF_CHECK_EQ(asked_raw("\033]2;a=?\a"), 0);
	ATF_CHECK_EQ(asked_raw("\005"), 1);
	ATF_CHECK_EQ(asked_raw("\033[1;1;1;1#|"), 1);
	ATF_CHECK_EQ(asked_raw("\033['|"), 1);
	ATF_CHECK_EQ(asked_raw("\033[2;2$u"), 1);
	ATF_CHECK_EQ(asked_raw("\033[1;1;1;1;9;9*y"), 1);
}

/* Wrap mode, shift, character set, attributes. */
#define RESTORED	"\033[?7h\017\033(B\033[m"

static void
reset_is(const char *in, const char *want)
{
	struct filter	f;
	uint8_t		out[ROOM];
	char		buf[1024], whole[1024];
	size_t		n;

	filter_init(&f, true, false);
	n = filter_out(&f, (const uint8_t *)in, strlen(in), out);
	snprintf(whole, sizeof(whole), "%s%s", memchr(out, 033, n) != NULL ?
	    ENDS : "", want);
	want = whole;
	n = filter_reset(&f, buf, sizeof(buf) - 1);
	buf[n] = '\0';
	if (strcmp(buf, want) != 0)
		fail_bytes("reset", in, strlen(in), (uint8_t *)buf, n, want);
	/* Nothing is put back twice. */
	ATF_REQUIRE_EQ(filter_reset(&f, buf, sizeof(buf)), 0);
}

ATF_TC_WITHOUT_HEAD(puts_back);
ATF_TC_BODY(puts_back, tc)
{
	reset_is("plain text\r\n", "");
	reset_is("\033[?2004h", "\033[?2004l");
	reset_is("\033[?2004h\033[?2004l", "");
	reset_is("\033[?1000;1006h", "\033[?1000l\033[?1006l");
	reset_is("\033[?1002h\033[?1003h\033[?1004h",
	    "\033[?1002l\033[?1003l\033[?1004l");
	reset_is("\033[?25l", "\033[?25h");
	reset_is("\033[?7l", "\033[?7h");
	reset_is("\033[?1h\033=", "\033[?1l\033>");
	reset_is("\033=\033>", "");
	reset_is("\033[?1049h", "\033[?1049l");
	reset_is("\033[?47h", "\033[?47l");
	reset_is("\033[?1049h\033[?1049l", "");
	reset_is("\033[>1u", "\033[<1u");
	reset_is("\033[>1u\033[>3u\033[<u", "\033[<1u");
	reset_is("\033[>1u\033[<u", "");
	reset_is("\033[=5u", "\033[=0u");
	/* A stack for each screen. */
	reset_is("\033[>1u\033[?1049h\033[>1u\033[>1u",
	    "\033[<2u\033[?1049l\033[<1u");
	reset_is("\033[?1049h\033[>1u\033[?1049l",
	    "\033[?1049h\033[<1u\033[?1049l");
	reset_is("\033[>1u\033[?1049h\033[=1u\033c",
	    "\033[?1049h\033[=0u\033[?1049l\033[<1u");
	/* What was set may be under what is on the stack. */
	reset_is("\033[=31u\033[>1u", "\033[<1u\033[=0u");
	reset_is("\033[=31u\033[=0;2u", "\033[=0u");
	reset_is("\033[=1;2u", "\033[=0u");
	reset_is("\033[=31u\033[=0;1u", "");
	reset_is("\033[>31u\033[<0u", "\033[<1u");
	reset_is("\033[>4;2m", "\033[>4m");
	reset_is("\033[>4;2m\033[>4;m", "");
	reset_is("\033[>4;2m\033[>1m\033[>m", "\033[>4m");
	reset_is("\033[>1;3m\033[>0;15m", "\033[>0m\033[>1m");
	reset_is("\033[>1;0m", "\033[>1m");
	reset_is("\033[>1;3m\033[>1m", "");
	reset_is("\033[>4n", "\033[>4m");
	reset_is("\033[?8c", "\033[?0c");
	reset_is("\033[?8c\033[?0c", "");
	reset_is("\033[?12;25h", "\033[?12l");
	reset_is("\033[?1007l", "\033[?1007h");
	reset_is("\033[?67;25l", "\033[?25h");
	/* A control is carried out where it stands. */
	reset_is("\033[\0161m", "\017\033[m");
	reset_is("\033[5 q", "\033[0 q");
	reset_is("\033[5 q\033[0 q", "");
	reset_is("\033[1;31mred", "\033[m");
	reset_is("\033[1mred\033[0m", "");
	reset_is("\033[1mred\033[m", "");
	reset_is("\033[38;5;0mblack", "\033[m");
	reset_is("\033[4h", "\033[4l");
	reset_is("\033(0", "\033(B");
	reset_is("\016", "\017");
	reset_is("\033[2;10r", "\0337\033[r\0338");
	reset_is("\033[2;10r\033[r", "");
	reset_is("\033]11;#000000\a", "\033]111\033\\");
	reset_is("\033]11;?\a", "");
	reset_is("\033]4;1;red\a", "\033]104\033\\");
	reset_is("\033]12;red\a\033]112\a", "");
	/* Several in one, with questions among them. */
	reset_is("\033]10;red;?;blue\a", "\033]110\033\\\033]112\033\\");
	reset_is("\033]4;1;?;2;red\a", "\033]104\033\\");
	reset_is("\033]4;1;red;2;red\a\033]104;1\a", "\033]104\033\\");
	reset_is("\033]4;1;?;2;?\a", "");
}

ATF_TC_WITHOUT_HEAD(puts_back_more);
ATF_TC_BODY(puts_back_more, tc)
{
	/* What was saved and has come back, whatever it was: until it is set
	 * again in so many words. */
	reset_is("\033[8m\0337\033[m\0338", RESTORED);
	reset_is("\033[?6h\0337\033[?6l\033[m\0338",
	    "\033[?6l" RESTORED);
	reset_is("\033[8m\033[s\033[m\033[u", RESTORED);
	reset_is("\033(0\0337\033(B\0338", RESTORED);
	reset_is("\0337\0338\033[m\033(B\017\033[?7h\033[?6l", "");
	reset_is("\033[8m\033[#{\033[m\033[#}", "\033[m");
	reset_is("\033[8m\033[#p\033[m\033[#q", "\033[m");
	reset_is("\033[?1000h\033[?1000s\033[?1000l\033[?1000r",
	    "\033[?1000l");
	reset_is("\033[?1049;25s\033[?1049;25r", "\033[?1049l\033[?25h");
	reset_is("\033*0\033n", "\017\033(B");
	reset_is("\033)0", "\033(B");
	reset_is("\033[1$}", "\033[0$}");
	reset_is("\033[1$}\033[0$}", "");
	reset_is("\033]8;;http://x/\033\\", "\033]8;;\033\\");
	/* It may be over all that is written. */
	reset_is("\033_Ga=T,z=1;QUJD\033\\", "\033_Ga=d\033\\");
	reset_is("\033[?1049h\033_Ga=T;QUJD\033\\",
	    "\033[?1049l\033_Ga=d\033\\");
	reset_is("\033_Ga=T,t=f;QUJD\033\\", "");
	/* A string without an end must not swallow what we say, nor what
	 * only the terminal takes for one. */
	reset_is("\033]0;title", "");
	reset_is("\033P+q", "");
	reset_is("\033Pq", "");
	reset_is("\033Pq\033]0;a\a", "");
	reset_is("\033]P1ff0000", "\033]R\033\\");
	reset_is("\033[?20", "");
	reset_is("\033]52;c;abc", "");
	/* Terminals differ in what these put back, so all is again. */
	reset_is("\033[?1049h\033[1m\033c", "\033[m");
	reset_is("\033[?25l\033[?6h\033[?2004h\033[!p",
	    "\033[?25h\033[?2004l");
	reset_is("\033[>4;2m\033c", "\033[>4m");
	/* Who goes into another screen and comes back finds the letters that
	 * nobody sees as they were. */
	reset_is("\033[8m\033[?1049h\033[m", "\033[?1049l" RESTORED);
	reset_is("\033[8m\033[?1049h\033[m\033[?1049l", RESTORED);
	reset_is("\033[8m\033[?1048h\033[m\033[?1048l", RESTORED);
	reset_is("\033[8m\0337\033[m\033[?1049h", "\033[?1049l" RESTORED);
	/* What was left out has set nothing. */
	reset_is("\033Ptmux;\033\033[?1049h\033\\", "");
}

static uint32_t
asked(const char *out_text, const char *in_text)
{
	struct filter	f;
	uint8_t		out[ROOM];

	filter_init(&f, true, false);
	filter_out(&f, (const uint8_t *)out_text, strlen(out_text), out);
	filter_in(&f, (const uint8_t *)in_text, strlen(in_text));
	return (filter_pending(&f));
}

ATF_TC_WITHOUT_HEAD(queries);
ATF_TC_BODY(queries, tc)
{
	ATF_CHECK_EQ(asked("text\033[m\033[2J\033[H", ""), 0);
	ATF_CHECK_EQ(asked("\033[6n", ""), 1);
	ATF_CHECK_EQ(asked("\033[6n", "\033[1;1R"), 0);
	ATF_CHECK_EQ(asked("\033[6n\033[6n", "\033[1;1R"), 1);
	ATF_CHECK_EQ(asked("\033[6n", "typed text\r\033[A"), 1);
	ATF_CHECK_EQ(asked("\033[c", "\033[?62;22c"), 0);
	ATF_CHECK_EQ(asked("\033[>c", "\033[>41;0;0c"), 0);
	ATF_CHECK_EQ(asked("\033[=c", "\033P!|00000000\033\\"), 0);
	ATF_CHECK_EQ(asked("\033[5n", "\033[0n"), 0);
	ATF_CHECK_EQ(asked("\033[?996n", "\033[?997;1n"), 0);
	ATF_CHECK_EQ(asked("\033[?2026$p", "\033[?2026;2$y"), 0);
	ATF_CHECK_EQ(asked("\033[?u", ""), 1);
	ATF_CHECK_EQ(asked("\033[?u\033[c", "\033[?62c"), 1);
	ATF_CHECK_EQ(asked("\033[?u", "\033[?0u"), 0);
	ATF_CHECK_EQ(asked("\033[>q", "\033P>|xterm(370)\033\\"), 0);
	ATF_CHECK_EQ(asked("\033]11;?\033\\",
	    "\033]11;rgb:0000/0000/0000\033\\"), 0);
	ATF_CHECK_EQ(asked("\033]11;?\a", "\033]11;rgb:0/0/0\a"), 0);
	ATF_CHECK_EQ(asked("\033]4;1;?;2;?\a", "\033]4;1;rgb:0/0/0\a"), 1);
	ATF_CHECK_EQ(asked("\033]11;#123456\a", ""), 0);
	ATF_CHECK_EQ(asked("\033P+q544e;436f\033\\", ""), 2);
	ATF_CHECK_EQ(asked("\033P$qm\033\\", "\033P1$r0m\033\\"), 0);
	/* Cut off, it is closed, and answered. */
	ATF_CHECK_EQ(asked("\033]11;?\033[m\033]11;?\030", ""), 2);
	ATF_CHECK_EQ(asked("\033[18t", "\033[8;24;80t"), 0);
	ATF_CHECK_EQ(asked("\033[8;24;80t", ""), 0);
	ATF_CHECK_EQ(asked("\033Z", ""), 1);
	/* Dropped ones are not answered. */
	ATF_CHECK_EQ(asked("\033[21t\033]52;c;?\a", ""), 0);
	/* Kitty's keys come in the same form as its answer, but for "?". */
	ATF_CHECK_EQ(asked("\033[?u", "\033[97;5u"), 1);
}

/* The answer that ends the swallowing is told, and only that. */
ATF_TC_WITHOUT_HEAD(fence);
ATF_TC_BODY(fence, tc)
{
	struct filter	f;

	filter_init(&f, true, false);
	ATF_CHECK(!filter_in(&f, (const uint8_t *)"\033[0", 3));
	ATF_CHECK(filter_in(&f, (const uint8_t *)"n", 1));
	ATF_CHECK(!filter_in(&f, (const uint8_t *)"n", 1));
	ATF_CHECK(!filter_in(&f, (const uint8_t *)"\033[?997;1n", 9));
	ATF_CHECK(filter_in(&f, (const uint8_t *)"\033[3n", 4));
}

/* The most patient terminal: a string is over at its own end only. No ESC of
 * another sequence may come before that; false if one does. */
struct patient {
	int	state;
	uint8_t	kind;
};

static bool
patient_reads(struct patient *t, const uint8_t *p, size_t n)
{
	enum { GROUND, AFTER_ESC, STRING, STRING_ESC };
	bool	ok = true;

	for (; n > 0; n--, p++)
		switch (t->state) {
		case GROUND:
			t->state = *p == 033 ? AFTER_ESC : GROUND;
			break;
		case AFTER_ESC:
			t->kind = *p;
			t->state = *p == 033 ? AFTER_ESC :
			    strchr("]P_^Xk!\"", *p) != NULL && *p != 0 ?
			    STRING : GROUND;
			break;
		case STRING:
			if (*p == 033)
				t->state = STRING_ESC;
			else if (*p == '\a' && t->kind == ']')
				t->state = GROUND;
			break;
		case STRING_ESC:
			ok = ok && *p == '\\';
			t->state = GROUND;
		}
	return (ok);
}

/* Any bytes at all: no crash, never more than the caller has room for, and no
 * string that is left open. */
ATF_TC_WITHOUT_HEAD(noise);
ATF_TC_BODY(noise, tc)
{
	static const char	likely[] = "\033\033\033[]P_^X\\;:?>0125\a\030"
				    "\233\235\220\234\302tmux;\nhlt"
				    "\032kqqGRP0;0;\"!$+=";
	static uint8_t		in[4096], out[FILTER_ROOM(sizeof(in))];
	struct filter		f;
	struct patient		t;
	char			buf[2048];
	unsigned int		round, i;
	size_t			n;

	for (round = 0; round < 2000; round++) {
		srandom(round);
		filter_init(&f, round % 2 == 0, false);
		memset(&t, 0, sizeof(t));
		for (i = 0; i < 4; i++) {
			n = (size_t)random() % sizeof(in);
			for (size_t j = 0; j < n; j++)
				in[j] = random() % 3 ? (uint8_t)likely[
				    (size_t)random() % (sizeof(likely) - 1)] :
				    (uint8_t)random();
			size_t	m = filter_out(&f, in, n, out);

			ATF_REQUIRE_MSG(m <= FILTER_ROOM(n) &&
			    patient_reads(&t, out, m), "seed %u", round);
			filter_in(&f, in, n);
		}
		n = filter_reset(&f, buf, sizeof(buf));
		ATF_REQUIRE_MSG(n < sizeof(buf) - 1 &&
		    patient_reads(&t, (uint8_t *)buf, n) && t.state == 0,
		    "seed %u", round);
	}
}

/* Each of these has to be closed. */
ATF_TC_WITHOUT_HEAD(many_strings);
ATF_TC_BODY(many_strings, tc)
{
	static uint8_t	in[4096], out[FILTER_ROOM(sizeof(in))];
	struct filter	f;
	size_t		i, n;

	filter_init(&f, true, false);
	for (i = 0; i < sizeof(in); i++)
		in[i] = i % 2 == 0 ? 0x90 : 'q';
	n = filter_out(&f, in, sizeof(in), out);
	ATF_CHECK_EQ(n, sizeof(in) / 2 * 5 - 2);
	ATF_CHECK(n + FILTER_HOLD <= FILTER_ROOM(sizeof(in)));
}

/* Text, with now and then a byte that is none, or a sequence. */
static size_t
text_make(uint8_t *p, size_t size, unsigned int every)
{
	static const char *const	odd[] = {
		"\033[1m", "\033]0;t\a", "\033P$qm\033\\", "\302\233m",
		"\303\274", "\342\202", "\177", "\005", "\016", "\030", "\033",
		"\237", "\377", "\0", "\001\b\t\v\f\r\036\037", "\033[6n",
		"\033]52;c;x\a"
	};
	static const char		text[] = "ab ~}|@!\"/;[]\\\n\n\r\t";
	const char			*s;
	size_t				 n = 0;

	while (n < size) {
		if (random() % every != 0) {
			p[n++] = (uint8_t)text[(size_t)random() %
			    (sizeof(text) - 1)];
			continue;
		}
		s = odd[(size_t)random() % (sizeof(odd) / sizeof(odd[0]))];
		do
			p[n++] = (uint8_t)*s;
		while (*++s != '\0' && n < size);
	}
	return (n);
}

/* What is left of the character before does not count. */
static bool
same_filter(struct filter f, struct filter g)
{
	if (f.unitlen == 0 && g.unitlen == 0) {
		memset(f.unit, 0, sizeof(f.unit));
		memset(g.unit, 0, sizeof(g.unit));
		f.unitwant = g.unitwant = 0;
	}
	/* Both were memory of zeros before they were filters. NOLINTNEXTLINE */
	return (memcmp(&f, &g, sizeof(f)) == 0);
}

/* Text goes through in pieces: what comes out, and what is known of the
 * terminal, is what looking at each byte gives. */
ATF_TC_WITHOUT_HEAD(same_as_each_byte);
ATF_TC_BODY(same_as_each_byte, tc)
{
	static uint8_t	in[2000], out[FILTER_ROOM(sizeof(in))],
			want[sizeof(out)];
	struct filter	f, g;
	struct sinkbuf	sb;
	unsigned int	round, i;
	size_t		at, n, part;

	for (round = 0; round < 4000; round++) {
		srandom(round);
		filter_init(&f, round % 2 == 0, round % 5 == 0);
		f.quiet = round % 3 == 0;
		g = f;
		n = text_make(in, (size_t)random() % sizeof(in),
		    3 + round % 100);
		for (at = 0; at < n; at += part) {
			part = 1 + (size_t)random() % (n - at);
			sb = (struct sinkbuf){ want, 0 };
			for (i = 0; i < part; i++)
				filter_byte(&g, &sb, in[at + i]);
			i = (unsigned int)filter_out(&f, in + at, part, out);
			if (f.raw) {
				sb.n = part;
				memcpy(want, in + at, part);
			}
			ATF_REQUIRE_EQ_MSG(sb.n, i, "seed %u", round);
			ATF_REQUIRE_MSG(memcmp(out, want, i) == 0 &&
			    same_filter(f, g), "seed %u", round);
		}
	}
}

/* Where another terminal answers, or nobody waits: no query goes through, and
 * all else does. */
static const struct row	queries_rows[] = {
	{ "device", "a\033[cb\033[>0cc\033[=cd", "abcd" },
	{ "device, the old way", "a\033Zb", "ab" },
	{ "device, as a C1 control", "a\302\232b", "ab" },
	{ "cursor and status", "a\033[6nb\033[?6nc\033[5nd", "abcd" },
	{ "mode", "a\033[?2026$pb", "ab" },
	{ "keys", "a\033[?ub", "ab" },
	{ "version", "a\033[>qb", "ab" },
	{ "window", "a\033[18tb\033[14tc", "abc" },
	{ "background", "a\033]11;?\033\\b", "a\033]11;\033\\b" },
	{ "background, by BEL", "a\033]11;?\ab", "a\033]11;\033\\b" },
	{ "palette", "\033]4;1;?\ab", "\033]4;1;\033\\b" },
	{ "settings", "a\033P$qm\033\\b", "ab" },
	{ "capabilities", "a\033P+q544e;636f\033\\b", "ab" },
	{ "graphics", "a\033_Gi=31,a=q;AAAA\033\\b", "ab" },
	{ "an ESC Z inside a string", "a\033]0;t\033Zb", "a\033]0;t\033\\b" },
	{ "modes and colours", "\033[?1049h\033[1;31mx\033[?2004h\033[2J",
	  NULL },
	{ "a colour that is set", "\033]11;#102030\033\\x", NULL },
	{ "sixel", "\033Pq#0;2;0;0;0#0~~@@\033\\x", NULL },
	{ "title, link", "\033]0;what?\a\033]8;;http://a/?b\033\\x", NULL },
	{ "keys that are pushed", "\033[>1u\033[<u", NULL },
};

ATF_TC_WITHOUT_HEAD(quiet_queries);
ATF_TC_BODY(quiet_queries, tc)
{
	struct filter	f;
	uint8_t		out[ROOM];
	size_t		i;

	quiet = true;
	ROWS(queries_rows, true);
	for (i = 0; i < sizeof(queries_rows) / sizeof(queries_rows[0]); i++) {
		filter_init(&f, true, false);
		f.quiet = true;
		filter_out(&f, (const uint8_t *)queries_rows[i].in,
		    strlen(queries_rows[i].in), out);
		ATF_CHECK_EQ_MSG(0, filter_pending(&f), "%s",
		    queries_rows[i].what);
	}
	/* What a terminal is in the middle of, it is let out of. */
	filter_init(&f, true, false);
	filter_out(&f, (const uint8_t *)"\033]2;half", 8, out);
	i = filter_out(&f, (const uint8_t *)"\030x", 2, out);
	ATF_CHECK(i == 4 && memcmp(out, "\033\\\030x", 4) == 0);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, goes_through);
	ATF_TP_ADD_TC(tp, left_out);
	ATF_TP_ADD_TC(tp, one_byte_coding);
	ATF_TP_ADD_TC(tp, screen_dcs);
	ATF_TP_ADD_TC(tp, overlong);
	ATF_TP_ADD_TC(tp, raw);
	ATF_TP_ADD_TC(tp, same_as_each_byte);
	ATF_TP_ADD_TC(tp, puts_back);
	ATF_TP_ADD_TC(tp, puts_back_more);
	ATF_TP_ADD_TC(tp, queries);
	ATF_TP_ADD_TC(tp, fence);
	ATF_TP_ADD_TC(tp, noise);
	ATF_TP_ADD_TC(tp, many_strings);
	ATF_TP_ADD_TC(tp, quiet_queries);
	return (atf_no_error());
}
