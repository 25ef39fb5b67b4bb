held = []
loop { held << "x" * (1 << 20) }
