/**
 * The line to the server: a WebSocket that resumes where it was cut.
 *
 * @typedef {"connecting"|"open"|"reconnecting"|"gone"|"unknown"|"done"} LineState
 *   `gone`: it has not answered for a while (it is still tried); `unknown`: the server knows no
 *   such job; `done`: everything has been received
 */

const UNKNOWN_JOB = 4404;
const FIRST_WAIT = 250;
const LONGEST_WAIT = 8000;
/** After so many failures in a row the reader is told that the server is gone. */
const PATIENCE = 5;

export class Transport {
  /**
   * @param {string} address of the job's socket, without the query
   * @param {object} listener
   * @param {() => number} listener.next the sequence number to go on from
   * @param {(messages: object[]) => boolean} listener.onMessages whether none was missing
   * @param {(state: LineState) => void} listener.onState
   * @param {() => boolean} listener.isComplete whether the run's last message has come
   */
  constructor(address, listener) {
    this.address = address;
    this.listener = listener;
    this.failures = 0;
    this.closed = false;
    this.connect("connecting");
  }

  /** Tries again at once. */
  retry() {
    if (this.closed || this.socket) return;
    clearTimeout(this.timer);
    this.connect("reconnecting");
  }

  stop() {
    this.socket?.send(JSON.stringify({ type: "stop" }));
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.socket?.close();
  }

  connect(state) {
    this.setState(state);
    const url = new URL(this.address, document.baseURI);
    url.protocol = url.protocol.replace("http", "ws");
    url.searchParams.set("from", this.listener.next());
    const socket = new WebSocket(url);
    this.socket = socket;
    socket.onopen = () => this.setState("open");
    socket.onmessage = ({ data }) => {
      this.failures = 0;
      // A gap is healed by asking again for what is missing.
      if (!this.listener.onMessages(JSON.parse(data))) socket.close();
    };
    socket.onclose = ({ code }) => this.onClose(code);
  }

  onClose(code) {
    this.socket = null;
    if (this.closed) return;
    if (code === UNKNOWN_JOB) return this.setState("unknown");
    if (this.listener.isComplete()) return this.setState("done");
    this.failures += 1;
    this.setState(this.failures < PATIENCE ? "reconnecting" : "gone");
    const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (this.failures - 1));
    this.timer = setTimeout(() => this.connect(this.state), wait * (0.75 + Math.random() / 2));
  }

  setState(state) {
    if (this.state === state) return;
    this.state = state;
    this.listener.onState(state);
  }
}
