//! A browser to test the page in: headless Chromium, driven by chromedriver in the W3C's protocol for that.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value as Json, json};

/// How long chromedriver may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// What chromedriver calls keys that are no letters.
pub(super) const ESCAPE: &str = "\u{e00c}";
pub(super) const ENTER: &str = "\u{e007}";
pub(super) const DOWN: &str = "\u{e015}";

/// A page in a browser, which ends with it.
pub(super) struct Browser {
    driver: Child,
    port: u16,
    session: String,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Opens a file; none, and a line that says so, where there is no Chromium.
    pub(super) fn open(page: &Path) -> Option<Browser> {
        let (Some(chromium), Some(chromedriver)) = (found("chromium"), found("chromedriver")) else {
            eprintln!(
                "skipped: no chromium and chromedriver are installed (`apt-get install chromium chromium-driver`)"
            );
            return None;
        };
        let mut command = Command::new(chromedriver);
        command.arg("--port=0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut driver = command.spawn().unwrap();
        let port = told_port(&mut driver);
        let profile = tempfile::tempdir().unwrap();
        let flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--window-size=1400,900",
            &format!("--user-data-dir={}", profile.path().display()),
        ];
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "binary": chromium, "args": flags },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        } } });
        let mut browser = Browser { driver, port, session: String::new(), _profile: profile };
        let session = browser.asked("POST", "/session", Some(&wanted));
        browser.session = format!("/session/{}", session["sessionId"].as_str().unwrap());
        browser.post("/url", &json!({ "url": format!("file://{}", page.display()) }));
        Some(browser)
    }

    /// The value of the body of a function.
    pub(super) fn script(&self, body: &str) -> Json {
        self.post("/execute/sync", &json!({ "script": body, "args": [] }))
    }

    /// The text of a script's value.
    pub(super) fn text(&self, body: &str) -> String {
        let value = self.script(body);
        value.as_str().unwrap_or_else(|| panic!("{body}: {value}")).to_owned()
    }

    /// Presses keys, one after the other.
    pub(super) fn press(&self, keys: &str) {
        let press = |key: char| {
            let key = key.to_string();
            [json!({ "type": "keyDown", "value": key }), json!({ "type": "keyUp", "value": key })]
        };
        let actions: Vec<Json> = keys.chars().flat_map(press).collect();
        self.post("/actions", &json!({ "actions": [{ "type": "key", "id": "keys", "actions": actions }] }));
    }

    /// Moves the mouse to the middle of the element that a script yields.
    pub(super) fn point_at(&self, element: &str) {
        let script = format!(
            "const box = (() => {{ {element} }})().getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]"
        );
        let middle = self.script(&script);
        let at = |axis: usize| middle[axis].as_f64().unwrap().round();
        let moved = json!({ "type": "pointerMove", "duration": 0, "origin": "viewport", "x": at(0), "y": at(1) });
        self.post("/actions", &json!({ "actions": [{ "type": "pointer", "id": "mouse", "actions": [moved] }] }));
    }

    /// What the page wrote to its console, errors of the page and of its policy among it.
    pub(super) fn console(&self) -> Vec<String> {
        self.log("browser").iter().map(|entry| entry["message"].to_string()).collect()
    }

    /// The addresses of all that the page asked for; a new tab of Chromium's own asks for more.
    pub(super) fn requests(&self) -> Vec<String> {
        let event = |entry: &Json| -> Json { serde_json::from_str(entry["message"].as_str().unwrap()).unwrap() };
        let sent = |event: Json| {
            let message = &event["message"];
            let is_request = message["method"] == "Network.requestWillBeSent";
            let of_page = message["params"]["documentURL"].as_str().is_some_and(|url| url.starts_with("file://"));
            (is_request && of_page).then(|| message["params"]["request"]["url"].as_str().unwrap().to_owned())
        };
        self.log("performance").iter().map(event).filter_map(sent).collect()
    }

    fn log(&self, kind: &str) -> Vec<Json> {
        self.post("/se/log", &json!({ "type": kind })).as_array().unwrap().clone()
    }

    fn post(&self, path: &str, body: &Json) -> Json {
        self.asked("POST", &format!("{}{path}", self.session), Some(body))
    }

    /// A question to chromedriver and the value that comes back.
    fn asked(&self, method: &str, path: &str, body: Option<&Json>) -> Json {
        let body = body.map(Json::to_string).unwrap_or_default();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).unwrap();
        let text = answer(&mut stream);
        let json: Json = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{method} {path}: {error}: {text}"));
        assert!(json["value"]["error"].is_null(), "{method} {path}: {}", json["value"]);
        json["value"].clone()
    }
}

/// The body of an HTTP answer, as long as its head says.
fn answer(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 1 << 13];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (key, value) = line.split_once(':')?;
                key.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().unwrap())
            });
            if body.len() >= length.unwrap_or(usize::MAX) {
                return body.to_owned();
            }
        }
        let count = stream.read(&mut buffer).unwrap();
        if count == 0 {
            let text = String::from_utf8_lossy(&bytes);
            return text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
        }
        bytes.extend_from_slice(&buffer[..count]);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Chromium ends with its session; a panic in here would hide the one that the test failed with.
        if !self.session.is_empty()
            && let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port))
        {
            let _ = stream.set_read_timeout(Some(PATIENCE));
            let _ = write!(stream, "DELETE {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", self.session);
            let _ = stream.read(&mut [0; 1024]);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// The port that chromedriver has chosen, which it says when it listens: "... started successfully on port 1234."
fn told_port(driver: &mut Child) -> u16 {
    let lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    let port = |line: String| line.split_once("successfully on port ")?.1.trim_end_matches('.').parse().ok();
    lines.map_while(Result::ok).find_map(port).expect("chromedriver says its port")
}

/// A program of the path.
fn found(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}
