/* The playground: its files go to whoever asks; what the page does needs a token, like any other client. */
#include "daemon/front/front_http.h"

#include "daemon/front/site.h"

#include <stdio.h>
#include <string.h>

/*
 * Scripts come from here and nowhere else, and none stands in the page. Styles
 * may: the editor and the console write theirs at run time. What programs give
 * as HTML is shown in frames without an address, which inherit this.
 */
#define PAGE_POLICY                                                                                                    \
	"Content-Security-Policy: default-src 'none'; script-src 'self'; worker-src 'self'; "                          \
	"style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; "          \
	"frame-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"                            \
	"Cross-Origin-Opener-Policy: same-origin\r\n"

static void site_answer(struct front *front, struct peer *peer, const char *path)
{
	const struct http_text pack = { (const char *)site_pack_data, site_pack_size };
	const struct exchange *x = peer->exchange;
	const struct http_text match = { x->match[0] ? x->match : NULL, x->match[0] ? strlen(x->match) : 0 };
	char extra[640], type[64];
	struct site_file file;
	bool squeezed;

	if (!site_find(pack, path, &file)) {
		http_answer_error(front, peer, CODE_NOT_FOUND, "", 0,
				  site_find(pack, "/", &file)
					  ? "the playground has no such file"
					  : "this emberbox was built without the playground; build it where npm is");
		return;
	}
	squeezed = file.squeezed.data && x->takes_gzip;
	snprintf(type, sizeof(type), "%.*s", (int)file.type.size, file.type.data);
	snprintf(extra, sizeof(extra), "ETag: %.*s\r\nCache-Control: %s\r\nVary: Accept-Encoding\r\n%s" PAGE_POLICY,
		 (int)file.etag.size, file.etag.data, file.forever ? "public, max-age=31536000, immutable" : "no-cache",
		 squeezed ? "Content-Encoding: gzip\r\n" : "");
	if (site_is_known(match, file.etag))
		http_answer(front, peer, 304, NULL, "", 0, extra);
	else if (squeezed)
		http_answer_lent(front, peer, type, file.squeezed.data, file.squeezed.size, extra);
	else
		http_answer_lent(front, peer, type, file.plain.data, file.plain.size, extra);
}

void site_page(struct front *front, struct peer *peer, const char *body, size_t size)
{
	site_answer(front, peer, "/");
}

void site_icon(struct front *front, struct peer *peer, const char *body, size_t size)
{
	site_answer(front, peer, "/favicon.svg");
}

void site_asset(struct front *front, struct peer *peer, const char *body, size_t size)
{
	char path[REST_MAX + 16];

	snprintf(path, sizeof(path), "/assets/%s", peer->exchange->rest);
	site_answer(front, peer, path);
}
