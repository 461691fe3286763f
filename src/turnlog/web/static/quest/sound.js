// Sounds, made by oscillators; silent until somebody turns them on.

/** Notes as [start in seconds, frequency in Hz, length, wave]. */
const SOUNDS = {
  read: [[0, 660, 0.06, "sine"], [0.05, 880, 0.08, "sine"]],
  web: [[0, 520, 0.06, "triangle"], [0.05, 780, 0.1, "triangle"]],
  write: [[0, 420, 0.03, "square"], [0.06, 470, 0.03, "square"], [0.12, 420, 0.03, "square"]],
  bash: [[0, 220, 0.05, "sawtooth"], [0.05, 140, 0.09, "sawtooth"]],
  think: [[0, 330, 0.16, "sine"], [0.12, 392, 0.2, "sine"]],
  quest: [[0, 392, 0.1, "triangle"], [0.1, 523, 0.1, "triangle"], [0.2, 659, 0.18, "triangle"]],
  error: [[0, 160, 0.14, "square"], [0.12, 110, 0.22, "square"]],
  agent_start: [[0, 740, 0.05, "triangle"], [0.06, 988, 0.08, "triangle"]],
  agent_finish: [[0, 988, 0.05, "triangle"], [0.06, 740, 0.08, "triangle"]],
  turn_finish: [[0, 523, 0.1, "triangle"], [0.1, 659, 0.1, "triangle"], [0.2, 784, 0.1, "triangle"], [0.3, 1047, 0.3, "triangle"]],
  level_up: [[0, 523, 0.08, "square"], [0.08, 659, 0.08, "square"], [0.16, 784, 0.08, "square"], [0.24, 1047, 0.35, "square"]],
  chest: [[0, 784, 0.08, "triangle"], [0.1, 1175, 0.2, "triangle"]],
  ship: [[0, 392, 0.12, "sawtooth"], [0.12, 523, 0.12, "sawtooth"], [0.24, 784, 0.4, "sawtooth"]],
  question: [[0, 880, 0.12, "sine"], [0.18, 880, 0.12, "sine"], [0.36, 1175, 0.3, "sine"]],
  compact_start: [[0, 392, 0.3, "sine"], [0.3, 294, 0.5, "sine"]],
};
SOUNDS.permission = SOUNDS.plan = SOUNDS.question;
const VOLUME = 0.06;
const MIN_GAP_SECONDS = 0.07;

export class Sound {
  constructor() {
    this.isOn = false;
    this.audio = null;
    this.latest = 0;
  }

  /** Turn sounds on or off; browsers allow this only after a click or a key. */
  turn(isOn) {
    this.isOn = isOn;
    if (isOn) {
      this.audio ??= new AudioContext();
      this.audio.resume();
    }
  }

  play(name) {
    const notes = SOUNDS[name];
    if (!this.isOn || !notes || this.audio.state !== "running") return;
    if (this.audio.currentTime - this.latest < MIN_GAP_SECONDS) return;
    this.latest = this.audio.currentTime;
    for (const note of notes) this.playNote(...note);
  }

  playNote(start, frequency, length, wave) {
    const { audio } = this;
    const from = audio.currentTime + start;
    const gain = audio.createGain();
    gain.gain.setValueAtTime(VOLUME, from);
    gain.gain.exponentialRampToValueAtTime(0.0001, from + length);
    gain.connect(audio.destination);
    const tone = audio.createOscillator();
    tone.type = wave;
    tone.frequency.value = frequency;
    tone.connect(gain);
    tone.start(from);
    tone.stop(from + length);
  }
}
