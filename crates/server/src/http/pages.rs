//! The files of the dashboard, which are part of the binary.

use super::access::text;
use super::answer::{tagged, with_body};
use axum::body::Body;
use axum::http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, IF_NONE_MATCH, VARY};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Pages that the dashboard draws itself.
const PAGES: [&str; 8] = ["inbox", "board", "task", "tree", "agents", "timeline", "flow", "more"];

/// Shown by a binary that was built without the dashboard.
const NO_DASHBOARD: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>comity</title>\
     <h1>comity</h1><p>This binary was built without the dashboard. The API is at /api/v1.</p></html>";

/// Returns the file at a path, or the page that draws what is there; nothing but its tag to whoever has it already.
pub fn file(path: &str, headers: &HeaderMap) -> Option<Response> {
    let name = path.trim_start_matches('/');
    let first = name.split('/').next().unwrap_or_default();
    let is_page = name.is_empty() || PAGES.contains(&first);
    let name = if is_page { "index.html" } else { name };
    let Some(at) = FILES.iter().position(|(known, _, _)| *known == name) else {
        return is_page.then(|| with_body(StatusCode::OK, kind(name), NO_DASHBOARD));
    };
    let (name, plain, gzipped) = FILES.get(at)?;
    let tag = TAGS.get(at)?;
    // Both forms have one tag, which says so by being weak.
    let seen = text(headers, IF_NONE_MATCH.as_str()).unwrap_or_default();
    let mut response = match seen.split(',').any(|one| one.trim() == tag) {
        true => with_body(StatusCode::NOT_MODIFIED, kind(name), Body::empty()),
        false if takes_gzip(headers) => {
            let mut response = with_body(StatusCode::OK, kind(name), *gzipped);
            let gzip = HeaderValue::from_static("gzip");
            response.headers_mut().insert(CONTENT_ENCODING, gzip);
            response
        }
        false => with_body(StatusCode::OK, kind(name), *plain),
    };
    let always = [(CACHE_CONTROL, "no-cache"), (VARY, "Accept-Encoding")];
    for (name, value) in always {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    Some(tagged(response, tag))
}

/// A tag for each file, which changes with its content.
static TAGS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let tag = |bytes: &[u8]| -> String {
        let hash = Sha256::digest(bytes);
        let hex: String = hash.iter().take(TAG_BYTES).map(|byte| format!("{byte:02x}")).collect();
        format!("W/\"{hex}\"")
    };
    FILES.iter().map(|(_, bytes, _)| tag(bytes)).collect()
});

/// Bytes of a hash that tell two versions of a file apart.
const TAG_BYTES: usize = 12;

fn takes_gzip(headers: &HeaderMap) -> bool {
    let ways = text(headers, ACCEPT_ENCODING.as_str()).unwrap_or_default();
    ways.split(',').any(|way| {
        let mut parts = way.split(';').map(str::trim);
        parts.next() == Some("gzip") && !parts.any(|part| part == "q=0")
    })
}

fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_drawn_by_the_same_file_and_nothing_else_is() {
        for path in ["/", "/inbox", "/board", "/task/T1", "/tree", "/agents", "/timeline", "/more"]
        {
            assert!(file(path, &HeaderMap::new()).is_some(), "{path}");
        }
        for path in ["/etc/passwd", "/../Cargo.toml", "/assets/../index.html", "/api", "/inbox.php"]
        {
            assert!(file(path, &HeaderMap::new()).is_none(), "{path}");
        }
    }
}
