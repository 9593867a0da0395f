//! The files of the dashboard, which are part of the binary.

use super::answer::with_body;
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Pages that the dashboard draws itself.
const PAGES: [&str; 8] = ["inbox", "board", "task", "tree", "agents", "timeline", "flow", "more"];

/// Shown by a binary that was built without the dashboard.
const NO_DASHBOARD: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>comity</title>\
     <h1>comity</h1><p>This binary was built without the dashboard. The API is at /api/v1.</p></html>";

/// Returns the file at a path, or the page that draws what is there.
pub fn file(path: &str) -> Option<Response> {
    let name = path.trim_start_matches('/');
    if let Some((name, bytes)) = FILES.iter().find(|(known, _)| *known == name) {
        // Names of assets change with their content.
        let keep = if name.starts_with("assets/") {
            "public, max-age=31536000, immutable"
        } else {
            "no-cache"
        };
        return Some(kept(with_body(StatusCode::OK, kind(name), *bytes), keep));
    }
    let first = name.split('/').next().unwrap_or_default();
    let is_page = name.is_empty() || PAGES.contains(&first);
    is_page.then(index)
}

fn index() -> Response {
    let index = FILES.iter().find(|(name, _)| *name == "index.html").map(|(_, bytes)| *bytes);
    let bytes = index.unwrap_or(NO_DASHBOARD.as_bytes());
    kept(with_body(StatusCode::OK, "text/html; charset=utf-8", bytes), "no-cache")
}

fn kept(mut response: Response, how: &'static str) -> Response {
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static(how));
    response
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
            assert!(file(path).is_some(), "{path}");
        }
        for path in ["/etc/passwd", "/../Cargo.toml", "/assets/../index.html", "/api", "/inbox.php"]
        {
            assert!(file(path).is_none(), "{path}");
        }
    }
}
