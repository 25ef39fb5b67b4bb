import os


def fails(action, *arguments):
    try:
        action(*arguments)
    except OSError:
        return True
    print("within reach:", *arguments)
    return False


os.listdir("/usr")  # so a listing works as such
tries = [fails(open, "/etc/shadow"), fails(os.listdir, "/root"), fails(os.listdir, "/home"), fails(open, "/usr/x", "w")]
if all(tries):
    print("host is out of reach")
