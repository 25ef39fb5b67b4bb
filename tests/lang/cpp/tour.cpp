// A walk through the standard library; each part checks itself.
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <ranges>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void check(bool good, const char *what)
{
	if (good)
		return;
	std::cerr << "tour: " << what << '\n';
	std::exit(1);
}

static void files()
{
	namespace fs = std::filesystem;
	const fs::path dir = fs::temp_directory_path() / "tour", name = dir / "note.txt";
	std::string line;

	fs::create_directories(dir);
	std::ofstream(name) << "one\ntwo\n";
	check(fs::file_size(name) == 8, "writing a file");
	std::ifstream in(name);
	check(std::getline(in, line) && line == "one", "reading it back");
	check(fs::remove_all(dir) == 2 && !fs::exists(name), "removing it");
}

static void patterns()
{
	check(std::regex_replace(std::string("write to ada@example.org"), std::regex(R"((\w+)@(\w+)\.org)"), "$2:$1") ==
		      "write to example:ada",
	      "a pattern");
}

// There is no JSON in C++; a value of several kinds, written as JSON, stands for it.
struct value {
	std::variant<std::nullptr_t, double, std::string, std::vector<value>, std::map<std::string, value>> is;
};

static void write(std::ostream &out, const value &v)
{
	if (auto number = std::get_if<double>(&v.is)) {
		out << *number;
	} else if (auto text = std::get_if<std::string>(&v.is)) {
		out << '"' << *text << '"';
	} else if (auto list = std::get_if<std::vector<value>>(&v.is)) {
		out << '[';
		for (const char *between = ""; const value &item : *list) {
			out << between;
			write(out, item);
			between = ",";
		}
		out << ']';
	} else if (auto object = std::get_if<std::map<std::string, value>>(&v.is)) {
		out << '{';
		for (const char *between = ""; const auto &[name, item] : *object) {
			out << between << '"' << name << "\":";
			write(out, item);
			between = ",";
		}
		out << '}';
	} else {
		out << "null";
	}
}

static void objects()
{
	std::map<std::string, value> object{ { "name", { "ember" } }, { "gone", { nullptr } } };
	std::ostringstream out;

	object["list"] = { std::vector<value>{ { 1.0 }, { 2.5 } } };
	write(out, { object });
	check(out.str() == R"({"gone":null,"list":[1,2.5],"name":"ember"})", "an object");
}

static void dates()
{
	using namespace std::chrono;
	const sys_days day = 2024y / February / 28;
	const year_month_day next{ day + days(1) };

	check(next == 2024y / February / 29 && weekday(sys_days(next)) == Thursday, "a leap day");
}

static void threads()
{
	std::atomic<int> sum = 0;
	{
		std::vector<std::jthread> all;
		for (int i : std::views::iota(1, 9))
			all.emplace_back([&sum, i] { sum += i; });
	}
	check(sum == 36, "threads");
	auto later = std::async(std::launch::async, [] { return std::lround(std::exp(2.0)); });
	check(later.get() == 7, "a future");
	bool caught = false;
	try {
		std::async(std::launch::async, []() -> int { throw std::out_of_range("x"); }).get();
	} catch (const std::out_of_range &) {
		caught = true;
	}
	check(caught, "an exception from a thread");
}

static void processes()
{
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(3);
	check(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3, "a process");
}

static void sockets()
{
	sockaddr_in address{};
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
	char text[8] = "";

	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	auto generic = reinterpret_cast<sockaddr *>(&address);
	check(bind(listener, generic, size) == 0 && listen(listener, 1) == 0, "listening");
	check(getsockname(listener, generic, &size) == 0, "the port");
	std::jthread server([listener] {
		int peer = accept(listener, nullptr, nullptr);
		check(peer >= 0 && send(peer, "hello", 6, 0) == 6, "answering");
		close(peer);
	});
	check(connect(fd, generic, size) == 0, "connecting");
	check(recv(fd, text, sizeof(text), MSG_WAITALL) == 6 && !std::strcmp(text, "hello"), "what was sent");
}

int main()
{
	files();
	patterns();
	objects();
	dates();
	threads();
	processes();
	sockets();
	std::cout << "tour ok\n";
}
